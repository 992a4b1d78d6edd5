"""`cronty audit`: whether the trail is whole, and the trail as lines of JSON."""

import sys
from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from cronty.cli.asking import ask
from cronty.cli.saying import REFUSED, Json, print_json, say
from cronty.jobs.result import Err, Ok, Result
from cronty.store.audit_store import AuditStore
from cronty.timing import BadTrigger
from cronty.timing.reading import read_moment

app = typer.Typer(no_args_is_help=True, help="The trail of who did what: check it, export it.")

Owner = Annotated[str | None, typer.Option(help="Whose trail. Left out: everybody's.")]


@app.command()
def verify(
    owner: Owner = None,
    head: Annotated[
        str | None, typer.Option(help="A head you kept, as NUMBER:HASH; says whether it is still in the trail.")
    ] = None,
    json: Json = False,
) -> None:
    """Check every entry against its hash and the one before it; exit 1 and say where, if something was changed."""
    if head is not None and owner is None:
        raise typer.BadParameter("name the --owner whose head it is.", param_hint="--head")
    broken, heads, unsealed = _look(lambda trail: _verify(trail, owner, head), json=json)
    if json:
        print_json({"whole": not broken, "broken": broken, "heads": heads, "unsealed": unsealed})
    else:
        state = "head" if broken else "whole"
        for one in heads:
            typer.echo(f"{state}  {one['owner']}  {one['head']}")
        if unsealed:
            say(f"{unsealed} not sealed yet: too young to be checked. Look again in a few seconds.", err=True)
        elif not heads:
            say("There are no entries.")
        for line in broken:
            say(f"broken  {line}", err=True)
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

    async def write(trail: AuditStore) -> Result[None]:
        async for line in trail.export(owner, start):
            sys.stdout.buffer.write(line)
        return Ok(None)

    _look(write)
    sys.stdout.flush()


async def _verify(
    trail: AuditStore, owner: str | None, head: str | None
) -> Result[tuple[list[str], list[dict[str, str]], int]]:
    """What is broken, where the chains end, and how many entries came in meanwhile."""
    broken = [f"{one.owner}: {one.why}." for one in await trail.verify(owner)]
    if head is not None:
        number, _, kept = head.partition(":")
        if not number.isdecimal() or len(number) > 18 or not kept:
            return Err("bad_head", f"Invalid head: {head}", "Give it as verify printed it, NUMBER:HASH.")
        if await trail.hash_of(owner or "", int(number)) != kept.lower():
            broken.append(f"{owner}: entry {number} isn't the one you kept: the chain was made anew.")
    heads = [{"owner": one.owner, "head": f"{one.number}:{one.hash}"} for one in await trail.heads(owner)]
    return Ok((broken, heads, await trail.unsealed(owner)))


def _look[T](question: Callable[[AuditStore], Awaitable[Result[T]]], *, json: bool = False) -> T:
    return ask(lambda cronty: question(cronty.trail), json=json)
