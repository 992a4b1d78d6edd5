"""A server on somebody's own machine: it knows who runs it, and other users of the machine get nothing."""

import asyncio
import json
import os
import stat
import subprocess
from pathlib import Path

import httpx2
import pytest

from cronty.cli.ready import is_ready
from cronty.client import AsyncClient, Client
from cronty.contract.local_key import CHALLENGE, PROOF, make_code, ready_proof
from cronty.contract.result import CrontyError
from tests.actions.servers import answer, plain
from tests.clients.serving import Served, free_port, serving
from tests.clients.test_http import JSON, LIST, say
from tests.patience import PATIENCE

PAGES = ("/", "/jobs", "/jobs/1", "/jobs/new", "/inbox", "/fleet", "/settings", "/live", "/runs/run_1_1")


def post(served: Served, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{served.url}/mcp", json=LIST, headers={**JSON, **headers}, timeout=PATIENCE)


def test_without_its_key_nobody_gets_anything(served: Served) -> None:
    for bearer in (
        {},
        {"authorization": "Bearer x"},
        {"authorization": f"Bearer {make_code(served.key, 'open', served.url)}"},
    ):
        for path in ("jobs", "keys", "events", "trail", "limits"):
            assert served.get(f"/api/v1/{path}", **bearer).status_code in (401, 404), path
        assert served.get("/api/v1/jobs", **bearer).status_code == 401
        assert post(served, **bearer).status_code == 401
        for path in PAGES:
            refused = served.get(path, **bearer)
            assert (refused.status_code, refused.headers["location"].split("?")[0]) == (303, "/sign-in"), path
    assert "Run cronty open on this machine" in served.get("/sign-in").text.replace("<code>", "").replace("</code>", "")


def test_with_its_key_every_way_in_is_open(served: Served) -> None:
    assert served.get("/api/v1/jobs", **served.bearer).status_code == 200
    assert post(served, **served.bearer).status_code == 200


def test_the_key_is_for_the_eyes_of_its_user(served: Served) -> None:
    assert served.data is not None
    path = served.data / "local.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    if os.geteuid() == 0:
        tried = subprocess.run(["cat", str(path)], user="nobody", capture_output=True, check=False, cwd="/")
        assert tried.returncode != 0


def test_a_key_that_others_could_read_is_not_used(tmp_path: Path, own_url: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "local.key").write_text("guessed")
    (data / "local.key").chmod(0o644)
    said = say("serve", database_url=own_url, data_dir=str(data))
    assert said.returncode == 2
    assert said.stderr.startswith(
        f"cronty: {data}/local.key may be read by others. Fix it with: chmod 600 {data}/local.key"
    )


def test_commands_and_programs_of_its_user_need_not_be_told_the_key(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert served.data is not None
    done = say("--url", served.url, "list", "--json", data_dir=str(served.data))
    assert done.returncode == 0, done.stderr
    assert "jobs" in json.loads(done.stdout)
    elsewhere = say("--url", served.url, "list", data_dir=str(tmp_path))
    assert (elsewhere.returncode, "This server requires a token" in elsewhere.stderr) == (1, True)
    monkeypatch.setenv("CRONTY_DATA_DIR", str(served.data))
    with Client(served.url) as client:
        assert client.list_jobs().total >= 0
    monkeypatch.setenv("CRONTY_DATA_DIR", str(tmp_path))
    with Client(served.url) as client, pytest.raises(CrontyError, match="requires a token"):
        client.list_jobs()


async def test_whoever_has_its_port_instead_is_not_given_the_key(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRONTY_DATA_DIR", str(served.data))
    async with plain(answer(401, b"{}")) as stranger:
        async with AsyncClient(stranger.url) as client:
            with pytest.raises(CrontyError):
                await client.list_jobs()
        [request] = stranger.received
    assert request.headers["authorization"].startswith("Bearer cronty_call_")
    assert served.key not in request.headers["authorization"]
    # And what it was given opens nothing.
    assert served.get("/api/v1/jobs", authorization=request.headers["authorization"]).status_code == 401


def test_what_somebody_got_who_had_its_port_meanwhile_opens_nothing(tmp_path: Path, own_url: str) -> None:
    port, secret = free_port(), "k" * 43
    with (
        serving(tmp_path, port=port, database_url=own_url, secret_key=secret) as first,
        httpx2.Client(timeout=PATIENCE) as browser,
    ):
        browser.get(f"{first.url}/sign-in?code={make_code(first.key, 'open', first.url)}")
        assert browser.get(f"{first.url}/jobs").status_code == 200
        cookies = dict(browser.cookies)
    # Nobody is there now: whoever takes the port is sent all of these.
    call, link = make_code(first.key, "call", first.url), make_code(first.key, "open", first.url)
    with serving(tmp_path, port=port, database_url=own_url, secret_key=secret) as again:
        assert again.get("/api/v1/jobs", authorization=f"Bearer {call}").status_code == 401
        assert again.get(f"/sign-in?code={link}").status_code == 401
        assert httpx2.get(f"{again.url}/jobs", cookies=cookies, timeout=PATIENCE).status_code == 303
        good = make_code(again.key, "call", again.url)
        assert again.get("/api/v1/jobs", authorization=f"Bearer {good}").status_code == 200


def test_a_link_opens_the_dashboard_once(served: Served) -> None:
    said = say("--url", served.url, "open", "--json", data_dir=str(served.data))
    assert said.returncode == 0, said.stderr
    link = json.loads(said.stdout)["link"]
    with httpx2.Client(timeout=PATIENCE) as browser:
        entered = browser.get(link)
        assert entered.status_code == 200
        assert 'http-equiv="refresh" content="0; url=/"' in entered.text
        assert served.key not in str(entered.headers)
        assert browser.get(f"{served.url}/jobs").status_code == 200
    with httpx2.Client(timeout=PATIENCE) as other:
        again = other.get(link)
        assert (again.status_code, "used already" in again.text) == (401, True)
        assert other.get(f"{served.url}/jobs").status_code == 303


async def test_only_an_answer_that_proves_the_key_is_believed(served: Served) -> None:
    assert served.data is not None
    assert await asyncio.to_thread(is_ready, served.url, served.data)
    async with plain(answer(200, b'{"status": "ready"}')) as stranger:
        assert not await asyncio.to_thread(is_ready, stranger.url, served.data)
        [request] = stranger.received
    assert served.key not in str(request)
    # Nor does an answer help that a stranger got from the server itself: it is good at its address alone.
    proof = served.get("/ready", **{CHALLENGE: request.headers[CHALLENGE.lower()]}).headers[PROOF]
    assert proof == ready_proof(served.key, served.url, request.headers[CHALLENGE.lower()])
    assert proof != ready_proof(served.key, stranger.url, request.headers[CHALLENGE.lower()])
    assert PROOF not in served.get("/ready").headers


def test_where_nothing_is_up_that_is_said(tmp_path: Path) -> None:
    said = say("open", data_dir=str(tmp_path), url="http://127.0.0.1:1")
    assert (said.returncode, said.stderr) == (
        1,
        "cronty: Cronty isn't up at http://127.0.0.1:1. `cronty up` starts it.\n",
    )
