"""`cronty serve` as an operator meets it."""

import signal
import socket
import subprocess
from pathlib import Path

import httpx2
import psutil
import pytest
import typer

from chaos.postgres import Postgres
from cronty import Cronty
from cronty.cli.serve import serve
from cronty.store.migrate import migrate
from tests.clients.serving import CRONTY, Served, environment, free_port, serving
from tests.patience import PATIENCE

NOWHERE = "postgresql://localhost:1/nowhere"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
JSON = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def say(*command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [CRONTY, *command], env=environment(**settings), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_an_address_that_others_can_reach_is_refused_with_the_reason() -> None:
    said = say("serve", "--host", "0.0.0.0", database_url=NOWHERE)
    assert said.returncode == 2
    text = " ".join(said.stderr.replace("│", " ").split())
    assert "0.0.0.0 can be reached by others. Add --auth, so that each of them needs a key of their own" in text
    assert "or listen on 127.0.0.1." in text
    assert said.stdout == ""


@pytest.mark.parametrize("host", ["192.168.1.5", "::", "example.org", ""])
def test_any_other_address_that_others_can_reach_is_refused(host: str) -> None:
    with pytest.raises(typer.BadParameter, match="can be reached by others"):
        serve(Cronty(NOWHERE), "jobs", host, free_port(), [], None, auth=False)


def test_a_host_name_that_is_not_ours_is_misdirected(served: Served) -> None:
    answer = httpx2.post(f"{served.url}/mcp", json=LIST, headers={**JSON, **served.bearer, "host": "evil.example"})
    assert answer.status_code == 421


def test_a_page_of_another_origin_is_forbidden(served: Served) -> None:
    answer = httpx2.post(
        f"{served.url}/mcp", json=LIST, headers={**JSON, **served.bearer, "origin": "https://evil.example"}
    )
    assert answer.status_code == 403


def test_a_call_from_here_is_answered(served: Served) -> None:
    answer = httpx2.post(f"{served.url}/mcp", json=LIST, headers={**JSON, **served.bearer, "origin": served.url})
    assert answer.status_code == 200
    assert answer.json()["result"]["tools"]


async def test_readiness_follows_the_database_and_health_does_not(tmp_path: Path) -> None:
    postgres = Postgres(shared_buffers="32MB")
    try:
        postgres.start()
        await migrate(postgres.url)
        with serving(tmp_path, database_url=postgres.url) as served:
            assert served.get("/health").json() == {"status": "alive"}
            postgres.stop("immediate")
            away = served.wait_for("/ready", 503)
            assert away.json()["reason"] == "PostgreSQL can't be reached.", "and where it is, the log says"
            assert served.get("/health").status_code == 200
            postgres.start()
            served.wait_for("/ready", 200)
    finally:
        postgres.close()


def test_told_to_stop_it_leaves_in_good_order(own_url: str, tmp_path: Path) -> None:
    with serving(tmp_path, database_url=own_url) as served:
        served.process.send_signal(signal.SIGTERM)
        out, _ = served.process.communicate(timeout=PATIENCE)
        assert served.process.returncode == 0, served.log.read_text()
        assert out == b""
        assert "stopped, 0 run(s) handed over" in served.log.read_text()


def test_a_stopped_server_leaves_no_database_server_behind(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(tmp_path, data_dir=str(data)) as served:
        postmaster = int((data / "postgres/postmaster.pid").read_text().splitlines()[0])
        served.process.terminate()
        served.process.wait(PATIENCE)
    assert not (data / "postgres/postmaster.pid").exists()
    assert not psutil.pid_exists(postmaster) or psutil.Process(postmaster).status() == psutil.STATUS_ZOMBIE


def test_a_database_that_cannot_be_reached_is_one_line_without_a_trace() -> None:
    said = say("serve", "--port", str(free_port()), database_url=NOWHERE, patience="0")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("cronty: PostgreSQL can't be reached: ")
    assert len(said.stderr.splitlines()) == 1


@pytest.mark.parametrize("option", ["--port", "--metrics-port"])
def test_a_port_that_is_taken_is_said_before_the_database_is_asked(option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        said = say("serve", "--port", str(free_port()), option, str(taken), database_url=NOWHERE)
    assert said.returncode == 2
    chosen_by = option if option == "--port" else f"{option} or CRONTY_METRICS_PORT"
    assert said.stderr.splitlines() == [
        f"cronty: can't listen at 127.0.0.1:{taken}: address already in use. Name another port: {chosen_by}."
    ]
