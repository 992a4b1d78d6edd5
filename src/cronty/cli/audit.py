"""`cronty audit`: verify the audit trail, export it as lines of JSON, archive old months as files."""

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from cronty.cli.connection import ask
from cronty.cli.output import REFUSED, Json, print_json, say
from cronty.contract.result import Err, Ok, Result
from cronty.store.archiving import NO_KEY, Archived
from cronty.store.audit_store import AuditStore, Head
from cronty.store.month_file import MonthFile, read_months
from cronty.store.sealing import BadKey
from cronty.store.signing import PublicKeys, Signer
from cronty.timing import BadTrigger
from cronty.timing.reading import read_moment

app = typer.Typer(no_args_is_help=True)

type Checked = Sequence[tuple[Path, MonthFile]]

Owner = Annotated[str | None, typer.Option(help="Whose trail. Left out: all owners'.")]


@app.command()
def verify(
    files: Annotated[
        list[Path] | None,
        typer.Argument(exists=True, dir_okay=False, help="Archived months. Left out: what is in the database."),
    ] = None,
    owner: Owner = None,
    head: Annotated[
        str | None, typer.Option(help="A head you saved, as NUMBER:HASH; checks that it is still in the trail.")
    ] = None,
    public_key: Annotated[
        list[str] | None,
        typer.Option(
            help="Trust what is signed with this key (`cronty audit key` prints it) besides CRONTY_SECRET_KEY; "
            "may be repeated. Files are checked with it alone, without the database."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check every entry against its hash and the entry before it; exit 1 and print where it was changed."""
    if head is not None and owner is None:
        raise typer.BadParameter("name the --owner whose head it is.", param_hint="--head")
    if files and owner is not None:
        raise typer.BadParameter("a file holds every owner's entries.", param_hint="--owner")
    try:
        keys = PublicKeys.read(public_key) if public_key else None
    except BadKey as bad:
        raise typer.BadParameter(str(bad), param_hint="--public-key") from None
    broken = _verify_files(files, keys, json=json) if files else _verify_database(owner, head, keys, json=json)
    if broken:
        raise typer.Exit(REFUSED)


@app.command()
def export(
    owner: Owner = None,
    since: Annotated[str | None, typer.Option(help="From this moment on, in ISO 8601.")] = None,
) -> None:
    """Write the trail to standard output, an entry a line."""
    try:
        start = None if since is None else read_moment(since, "UTC")
    except BadTrigger as bad:
        raise typer.BadParameter(f"{bad.message}. {bad.hint}", param_hint="--since") from None

    async def write(trail: AuditStore) -> Result[list[Head]]:
        async for line in trail.export(owner, start):
            sys.stdout.buffer.write(line)
        return Ok(await trail.heads(owner))

    heads = _ask(write)
    sys.stdout.flush()
    months = [head.archived_month for head in heads if head.archived_month is not None]
    if months and (start is None or f"{start:%Y-%m}" <= max(months)):
        say(f"Entries up to {max(months)} were archived: they are in the files of their months.", err=True)


@app.command()
def archive(
    before: Annotated[str, typer.Option(help="Months before this one, as 2026-08.")],
    to: Annotated[Path, typer.Option(file_okay=False, help="The folder for the files, one a month.")],
    json: Json = False,
) -> None:
    """Move old months of the trail into files and drop them; what is left still verifies.

    Each file is written, read back and checked before its month is dropped. Interrupted, run it again.
    """
    try:
        end = date.fromisoformat(f"{before}-01")
    except ValueError:
        raise typer.BadParameter(f"{before!r} isn't a month: give it as 2026-08.", param_hint="--before") from None
    done: list[Archived] = []

    async def work(trail: AuditStore) -> Result[None]:
        if trail.signer is None:
            return NO_KEY
        for month in await trail.archiving.months(end):
            made = await trail.archiving.archive(month, to)
            if isinstance(made, Err):
                return made
            if made.value is not None:
                done.append(made.value)
                if not json:
                    typer.echo(f"archived  {made.value.month}  {made.value.entries}  {made.value.path}")
        return Ok(None)

    _ask(work, json=json)
    if json:
        print_json({"archived": [asdict(one) | {"path": str(one.path)} for one in done]})
    elif not done:
        say(f"There is no month before {before} in the database.")


@app.command()
def key(json: Json = False) -> None:
    """Print the public key that archived months are verified with; keep it where the files go."""

    async def look(trail: AuditStore) -> Result[Signer]:
        return NO_KEY if trail.signer is None else Ok(trail.signer)

    signer = _ask(look, json=json)
    if json:
        print_json({"public_key": signer.public_key, "key_id": signer.key_id})
    else:
        typer.echo(signer.public_key)


def _verify_database(owner: str | None, head: str | None, keys: PublicKeys | None, *, json: bool) -> list[str]:
    broken, heads, unsealed, erasing = _ask(lambda trail: _verify(trail, owner, head, keys), json=json)
    if json:
        shown = [asdict(one) | {"head": f"{one.number}:{one.hash}"} for one in heads]
        print_json(
            {"whole": not broken, "broken": broken, "heads": shown, "unsealed": unsealed, "being_erased": erasing}
        )
        return broken
    state = "head" if broken else "whole"
    for one in heads:
        cut = "" if one.archived_through is None else f"  1 to {one.archived_through} archived, {one.archived_month}"
        typer.echo(f"{state}  {one.owner}  {one.number}:{one.hash}{cut}")
    if unsealed:
        say(f"{unsealed} not sealed yet, so they can't be checked. Try again in a few seconds.", err=True)
    elif not heads and not erasing:
        say("There are no entries.")
    for one in erasing:
        say(f"{one} is being erased: not checked. `cronty owner erase` finishes it.", err=True)
    for line in broken:
        say(f"broken  {line}", err=True)
    return broken


async def _verify(
    trail: AuditStore, owner: str | None, head: str | None, keys: PublicKeys | None
) -> Result[tuple[list[str], list[Head], int, list[str]]]:
    """What is broken, where the chains end, how many entries aren't sealed yet, and which owners are being erased."""
    broken = [f"{one.owner}: {one.why}." for one in await trail.verify(owner, keys)]
    heads = await trail.heads(owner)
    erasing = await trail.being_erased(owner)
    if head is not None and erasing:
        return Err("owner_erased", f"{owner} is being erased", "Finish it with `cronty owner erase`.")
    if head is not None:
        number, _, kept = head.partition(":")
        if not number.isdecimal() or len(number) > 18 or not kept:
            return Err("bad_head", f"Invalid head: {head}", "Give it as verify printed it, NUMBER:HASH.")
        found = await trail.hash_of(owner or "", int(number))
        archived = max((one.archived_through or 0 for one in heads), default=0)
        if found is None and int(number) < archived:
            return Err("archived", f"Entry {number} was archived", "Look for its hash in the file of its month.")
        if found != kept.lower():
            broken.append(f"{owner}: entry {number} isn't the one you saved: the chain was rewritten.")
    return Ok((broken, heads, await trail.unsealed(owner), erasing))


def _verify_files(files: Sequence[Path], keys: PublicKeys | None, *, json: bool) -> list[str]:
    checked = read_months(files, keys) if keys else _ask(lambda trail: _check_and_join(trail, files), json=json)
    broken = [f"{path}: {why}." for path, file in checked for why in file.broken]
    if json:
        shown = [
            {"file": str(path), "month": file.month, "entries": file.entries, "owners": len(file.checkpoints)}
            for path, file in checked
        ]
        print_json({"whole": not broken, "broken": broken, "files": shown})
        return broken
    for path, file in checked:
        typer.echo(f"{'broken' if file.broken else 'whole'}  {file.month}  {file.entries}  {path}")
    for line in broken:
        say(f"broken  {line}", err=True)
    return broken


async def _check_and_join(trail: AuditStore, files: Sequence[Path]) -> Result[Checked]:
    """Check files with our own keys and against what the database says was archived."""
    if trail.signer is None:
        return NO_KEY
    checked = read_months(files, trail.signer.public_keys)
    for _, file in checked:
        if not file.broken:
            file.broken += await trail.archiving.joined(file)
    return Ok(checked)


def _ask[T](question: Callable[[AuditStore], Awaitable[Result[T]]], *, json: bool = False) -> T:
    return ask(lambda cronty: question(cronty.service.trail), json=json)
