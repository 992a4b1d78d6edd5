"""`cronty call`: any operation, with its request and its answer as JSON."""

from typing import Annotated, cast

import orjson
import typer

from cronty.cli.connection import Api, call
from cronty.cli.output import REFUSED, refuse
from cronty.contract.operations import ALL
from cronty.contract.result import Err


def call_operation(
    operation: Annotated[str, typer.Argument(help="Its name, such as list_jobs; --list shows them.")] = "",
    fields: Annotated[str, typer.Argument(help='Its fields as JSON: \'{"status": "failed"}\'.')] = "{}",
    names: Annotated[bool, typer.Option("--list", help="List the operations and what each does.")] = False,
) -> None:
    if names or not operation:
        for name, one in ALL.items():
            typer.echo(f"{name}  {one.title}")
        return
    if operation not in ALL:
        refuse(f"There is no operation {operation}.", REFUSED, hint="`cronty call --list` shows them.", json=True)
    wanted = ALL[operation]
    try:
        given = orjson.loads(fields)
    except orjson.JSONDecodeError:
        given = None
    if not isinstance(given, dict):
        raise typer.BadParameter(f'The fields must be a JSON object such as {{"limit": 5}}, not {fields}')
    request = wanted.read(cast("dict[str, object]", given))
    if isinstance(request, Err):
        refuse(request.message, REFUSED, hint=request.hint, json=True)

    async def ask(api: Api) -> object:
        return await api.ask(wanted, request.value)

    call(ask, json=True)
