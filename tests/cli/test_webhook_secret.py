"""What a receiver verifies with is printed, and it is what we sign with."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from standardwebhooks import Webhook as Verifier
from typer.testing import CliRunner

from cronty.actions.outbound import Outbound
from cronty.actions.tasks import CurrentRun, Registry, outcome_of_async
from cronty.actions.webhook import Webhook
from cronty.cli.main import app
from cronty.store.sealing import new_key, read_keys
from tests.actions.servers import anns, answer, plain

RUN = CurrentRun(1024, 7168, 7, datetime(2027, 3, 1, 8, tzinfo=UTC), 1)


def said(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["webhook-secret", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


async def test_a_receiver_verifies_with_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = f"{new_key()},{new_key()}"
    monkeypatch.setenv("CRONTY_SECRET_KEY", keys)
    monkeypatch.setenv("CRONTY_DATABASE_URL", "postgresql://nowhere")
    async with plain(answer(200)) as server:
        outbound = Outbound([server.allowed], own="ann")
        task = Registry().add(Webhook(outbound, anns, lambda: read_keys(keys)).webhook, "webhook")
        await outcome_of_async(task, RUN, json.dumps({"args": [server.url], "kwargs": {}}))
        await outbound.aclose()
    [sent] = server.received
    printed = said("--owner", "ann").split()
    assert len(printed) == 2, "the new one and the old one, while it is changed"
    for secret in printed:
        assert Verifier(secret).verify(sent.body, sent.headers)["data"]["owner"] == "ann"
    assert json.loads(said("--owner", "ann", "--json"))["secrets"] == printed
    others = {*said("--owner", "bob").split(), *said("--agent", "ann").split(), *said("--agent", "bob").split()}
    assert len(others) == 6
    assert not others & set(printed)


def test_a_local_installation_has_a_key_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_DATA_DIR", str(tmp_path))
    assert said() == said("--owner", "local")
    assert said().startswith("whsec_")


def test_without_a_key_it_says_that_nothing_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_DATABASE_URL", "postgresql://nowhere")
    done = CliRunner().invoke(app, ["webhook-secret"])
    assert done.exit_code == 1
    assert "CRONTY_SECRET_KEY" in done.output
