"""Calls made up from the OpenAPI page, by two owners at once: no 5xx, no answer beside its schema, nobody else's rows.

By hand: `python -m tests.web.schemathesis_run 10000`.
"""

import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks
from schemathesis.checks import load_all_checks
from schemathesis.core.failures import FailureGroup

from cronty.store.migrate import migrate
from cronty.store.scratch import scratch_server
from cronty.store.sealing import new_key
from tests.clients.serving import Served, accepting, serving
from tests.web.conftest import APP, PLACE, key_of

STREAMS: Final = "/events"
OWNERS: Final = ("ann", "bob")
CHECKS: Final = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "negative_data_rejection",
]  # fmt: skip
MARKS: Final = {owner: f"{owner}-mark-{owner}" for owner in OWNERS}


@dataclass
class Figures:
    """What came of it; all but `calls` and `statuses` must stay empty."""

    calls: int = 0
    statuses: Counter[int] = field(default_factory=Counter[int])
    faults: list[str] = field(default_factory=list[str])
    broken: list[str] = field(default_factory=list[str])
    foreign: list[str] = field(default_factory=list[str])

    def report(self) -> str:
        told = ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))
        return (
            f"{self.calls} calls ({told}); {len(self.faults)} answers of 5xx, {len(self.broken)} beside their schema, "
            f"{len(self.foreign)} with somebody else's rows"
        )


@dataclass
class Known:
    """Ids of what an owner has, to be asked about by both."""

    jobs: list[str] = field(default_factory=list[str])
    runs: list[str] = field(default_factory=list[str])
    keys: list[str] = field(default_factory=list[str])


class Callers:
    """Both owners in turn, over every operation, until enough calls are made."""

    def __init__(self, served: Served, keys: dict[str, str], phone: str, start: int = 1) -> None:
        self._base, self._keys, self._phone, self._start = served.url + PLACE, keys, phone, start
        self._session = requests.Session()
        self.known = {owner: Known() for owner in OWNERS}
        self.figures = Figures()
        load_all_checks()
        self._checks: Any = cast("Any", checks).CHECKS.get_by_names(CHECKS)

    def run(self, calls: int) -> Figures:
        schema: Any = schemathesis.openapi.from_url(f"{self._base}/openapi.json")
        operations: list[Any] = [found.ok() for found in schema.get_all_operations()]
        operations = [one for one in operations if one.path != STREAMS]
        each, turn = max(2, calls // len(operations)), self._start  # one round is enough, as a rule
        while self.figures.calls < calls:
            for operation in operations:
                for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                    turn += 1
                    self._try(operation, mode, each, turn)
        return self.figures

    def _try(self, operation: Any, mode: GenerationMode, each: int, turn: int) -> None:
        quiet = settings(
            max_examples=each, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=cast("Any", list(HealthCheck)),
        )  # fmt: skip
        token = {"Authorization": "Bearer x"}  # given, or its absence would be tried out
        cases = operation.as_strategy(generation_mode=mode, headers=token)

        @quiet
        @seed(turn)
        @given(case=cases, owner=st.sampled_from(OWNERS), luck=st.integers(0, 7))
        def call(case: Any, owner: str, luck: int) -> None:
            case.headers["Authorization"] = f"Bearer {self._keys[owner]}"
            if isinstance(case.body, dict):
                body = cast("dict[str, Any]", case.body)
                case.body = dict(body)  # an example is the same object every time
                if isinstance(wait := body.get("wait_seconds"), int | float) and 0 <= wait <= 20:
                    case.body["wait_seconds"] = 0  # or each would take its time
            if mode == GenerationMode.POSITIVE:
                self._aim(case, owner, luck)
            self._call(case, owner)

        with suppress(Unsatisfiable):  # an operation that takes nothing can't be given anything wrong
            call()

    def _aim(self, case: Any, owner: str, luck: int) -> None:
        """Let half of the calls mean something: an id there is, a rule that can be read."""
        if isinstance(case.body, dict):
            self._aim_body(case, owner, luck)
        places = case.path_parameters
        known = self.known[OWNERS[luck % 2]]
        if luck < 6 and places:
            for name, ids in (("job_id", known.jobs), ("run_id", known.runs), ("key_id", known.keys)):
                if name in places and ids:
                    places[name] = ids[(self.figures.calls + luck) % len(ids)].replace("#", "%23")
            if "name" in places:
                places["name"] = f"phone-{luck}"

    def _aim_body(self, case: Any, owner: str, luck: int) -> None:
        body: dict[str, Any] = case.body
        known = self.known[OWNERS[luck % 2]]
        if isinstance(body.get("name"), str):
            body["name"] = f"{MARKS[owner]} {body['name']}"[:90]
        if luck < 6 and "trigger_config" in body and "trigger_type" in body:
            body |= {"trigger_type": "interval", "trigger_config": {"seconds": 5 + luck}}
        if luck < 6 and "task" in body:
            said = f"{MARKS[owner]} says"
            tasks: list[dict[str, Any]] = [
                {"task": "say", "args": [said], "kwargs": {}},
                {"task": "prompt", "args": [], "kwargs": {"prompt": said}},
                {"task": "say", "args": [], "kwargs": {"word": said}},
            ]
            body |= tasks[luck % 3]
            for name in ("policy", "max_runs", "timezone", "starts_at", "ends_at"):
                body.pop(name, None) if luck < 4 else None
        for name in ("run_ids", "receipts"):
            if name in body and known.runs and luck < 6:
                body[name] = [*known.runs[-3:], *body[name][:2]]
        if case.path == "/channels/{name}" and luck < 6:
            body["url"] = f"ntfy://{self._phone}/{MARKS[owner]}"
        if case.path == "/notifications" and luck < 6:
            body |= {"message": "x", "topic": "phone"}

    def _call(self, case: Any, owner: str) -> None:
        figures, other = self.figures, next(one for one in OWNERS if one != owner)
        response = case.call(base_url=self._base, session=self._session, timeout=30)
        figures.calls += 1
        figures.statuses[response.status_code] += 1
        told = f"{owner}: {case.as_curl_command()}: {response.status_code} {response.text[:500]}"
        if response.status_code >= 500:
            figures.faults.append(told)
        if MARKS[other] in response.text or MARKS[other] in str(response.headers):
            figures.foreign.append(told)
        try:
            case.validate_response(response, checks=self._checks)
        except FailureGroup as broken:
            figures.broken.append(f"{told}\n{broken}")
        self._remember(response, owner)

    def _remember(self, response: Any, owner: str) -> None:
        if response.status_code not in (201, 202):
            return
        made, known = response.json(), self.known[owner]
        for name, ids in (("job_id", known.jobs), ("run_id", known.runs), ("id", known.keys)):
            if name in made:
                ids.append(str(made[name]))


def conform(url: str, folder: Path, calls: int) -> Figures:
    """Over a database that is migrated, with a server of its own."""
    (folder / "words.py").write_text(APP)
    keys = {owner: asyncio.run(key_of(url, owner)) for owner in OWNERS}
    with (
        accepting() as phone,
        serving(
            folder, "--auth", "--app", "words:cronty", database_url=url, secret_key=new_key(),
            allowed_hosts=f"{phone}@*", ntfy_url=f"http://{phone}", limits='{"pushes_per_day": 0, "wakes_per_hour": 0}',
        ) as served,
    ):  # fmt: skip
        return Callers(served, keys, phone).run(calls)


def main(calls: int, say: Callable[[str], object] = print) -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cronty-conform-") as folder, scratch_server() as url:
        asyncio.run(migrate(url))
        figures = conform(url, Path(folder), calls)
    for what in (figures.faults, figures.broken, figures.foreign):
        for told in what[:10]:
            say(f"--- {told}")
    say(f"{figures.report()}, in {time.monotonic() - began:.0f} s")
    return 1 if figures.faults or figures.broken or figures.foreign else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
