"""Whose dashboard it is: who may come in, from where a change may come, and what nobody may learn."""

from collections.abc import AsyncGenerator

import httpx2
import pytest

from cronty.contract.caller import local_caller
from cronty.contract.result import Ok
from cronty.store.freezing import freeze
from cronty.web.dashboard.security import BROWSER, LARGEST_FORM, SESSION
from tests.conftest import HandClock, Hands
from tests.web.dashboard_fixtures import HOST, ORIGIN, Browser, House, Page, ann, application, house

__all__ = ["ann", "house"]

CHANGES = [
    "/jobs", "/jobs/tagged", "/jobs/1/edit", "/jobs/1/delete", "/jobs/1/pause", "/jobs/1/resume", "/jobs/1/cancel",
    "/jobs/1/skip", "/jobs/1/restore", "/jobs/1/run", "/runs/redrive", "/runs/run_1_1/stop", "/inbox",
    "/settings/channels", "/settings/channels/change", "/settings/keys", "/settings/keys/revoke", "/settings/zone",
    "/settings/zone/suggest", "/sign-in", "/sign-out", "/theme",
]  # fmt: skip
OURS = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}


@pytest.fixture
async def visitor(house: House) -> AsyncGenerator[Browser]:
    """Somebody at a server that asks for a key."""
    async with house.visited(house.by_key()) as browser:
        yield browser


async def sign_in(browser: Browser, key: str, then: str = "/") -> None:
    browser.token = ""
    await browser.get("/sign-in")
    await browser.post("/sign-in", key=key, next=then)
    assert browser.went_to == then
    await browser.get("/settings")


@pytest.mark.parametrize("path", CHANGES)
async def test_a_change_from_anywhere_else_is_refused(house: House, ann: Browser, hands: Hands, path: str) -> None:
    await house.job("Tea")
    await ann.get("/jobs")
    good = {"csrf": ann.token}
    for data, headers in [
        ({}, OURS),
        ({"csrf": "0" * 64}, OURS),
        ({"csrf": ann.token[:-1]}, OURS),
        (good, {}),
        (good, {"origin": "null"}),
        (good, {"origin": "https://elsewhere.example", "sec-fetch-site": "cross-site"}),
        (good, {"origin": f"{ORIGIN}.elsewhere.example"}),
        (good, OURS | {"sec-fetch-site": "same-site"}),
        (good, OURS | {"sec-fetch-site": "cross-site"}),
    ]:
        answer = await ann.client.post(path, data=data, headers=headers)
        assert answer.status_code == 403, (path, data, headers)
        assert Page(answer.text).flaws() == []
    job = await house.cronty.service.scheduler.show(local_caller("ann"), 1)
    assert isinstance(job, Ok)
    assert job.value.version == 1


async def test_a_token_is_good_only_in_the_browser_it_was_given_to(house: House, ann: Browser, hands: Hands) -> None:
    await house.job("Tea")
    await ann.get("/jobs")
    async with house.visited(house.locally()) as other:
        await other.get("/jobs")
        assert other.token != ann.token
        answer = await other.client.post("/jobs/1/pause", data={"csrf": ann.token}, headers=OURS)
        assert answer.status_code == 403
        answer = await other.client.post("/jobs/1/pause", headers=OURS | {"x-csrf-token": other.token})
        assert answer.status_code == 303, "as a header it is as good"


async def test_a_name_that_somebody_points_here_is_not_ours(house: House, ann: Browser) -> None:
    for host in ("elsewhere.example", f"{HOST}:81", ""):
        answer = await ann.client.get("/", headers={"host": host})
        assert answer.status_code == 421, host
        assert "Cronty" not in answer.text


async def test_what_is_somebody_elses_is_not_there(house: House, ann: Browser, hands: Hands, clock: HandClock) -> None:
    bobs = await house.job("Bob's secret", owner="bob", task="fail", tags=["bobs"])
    await house.cronty.service.scheduler.run_now(local_caller("bob"), bobs.number)
    await hands.all()
    runs = await house.cronty.service.scheduler.list_runs(local_caller("bob"), bobs.number)
    assert isinstance(runs, Ok)
    run = runs.value[0]
    for path in ("/jobs/{}", "/jobs/{}/edit", "/jobs/{}/runs", "/runs/{}"):
        theirs = await ann.client.get(path.format(run.run_id if "runs/{" in path else bobs.number))
        missing = await ann.client.get(path.format("run_999_1" if "runs/{" in path else 999))
        nonsense = await ann.client.get(path.format("<b>"))
        assert theirs.status_code == missing.status_code == nonsense.status_code == 404
        assert _same(theirs) == _same(missing) == _same(nonsense)
    for act in ("pause", "resume", "cancel", "run", "delete"):
        theirs = await ann.send(f"/jobs/{bobs.number}/{act}")
        missing = await ann.send(f"/jobs/999/{act}")
        assert (theirs.status_code, _same(theirs)) == (404, _same(missing))
    await ann.post("/runs/redrive", 404, run=run.run_id, from_="run")
    for path in ("/", "/jobs", "/jobs?q=secret", "/jobs?tag=bobs", "/fleet", "/inbox", "/settings"):
        await ann.get(path)
        assert "secret" not in Page(ann.pages[-1].text).text


def _same(answer: httpx2.Response) -> str:
    """What is said, without the address that was asked for."""
    return Page(answer.text).text


async def test_nobody_comes_in_without_a_key(house: House, visitor: Browser, hands: Hands) -> None:
    for path in ("/", "/jobs", "/jobs/1", "/runs/x", "/inbox", "/fleet", "/settings", "/live", "/jobs/preview"):
        answer = await visitor.client.get(path)
        assert (answer.status_code, answer.headers["location"].split("?")[0]) == (303, "/sign-in"), path
    answer = await visitor.client.get("/jobs", headers={"hx-request": "true"})
    assert (answer.status_code, answer.headers["hx-redirect"]) == (204, "/sign-in")
    for path in CHANGES[:14]:
        answer = await visitor.client.post(path, headers=OURS)
        assert answer.status_code in (303, 403), path
    page = await visitor.get("/sign-in?next=/jobs")
    assert page.flaws() == []
    assert page.all("input", name="next")[0]["value"] == "/jobs"
    for key in ("", "nonsense", "cronty_1_" + "A" * 43, "x" * 9000):
        page = await visitor.post("/sign-in", 401, key=key)
        assert "This key isn't valid." in page.text
    assert SESSION not in visitor.client.cookies


async def test_a_key_signs_in_and_a_revoked_one_is_out_at_once(house: House, visitor: Browser, hands: Hands) -> None:
    await house.job("Tea")
    key = await house.key("ann", "read", "schedule", "run", "prompts", "admin")
    await sign_in(visitor, key, "/jobs")
    cookie = next(one for page in visitor.pages for one in page.headers.get_list("set-cookie") if SESSION in one)
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert "Secure" not in cookie, "over plain http a browser would not keep it"
    assert "Tea" in (await visitor.get("/jobs")).text
    await visitor.post("/jobs/1/pause")
    await house.cronty.service.identity.revoke(local_caller("ann"), 1)
    answer = await visitor.client.get("/jobs")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=/jobs")


async def test_the_cookie_is_not_the_key_and_ends_by_itself(
    house: House, visitor: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await house.key("ann", "read")
    await sign_in(visitor, key)
    cookie = visitor.client.cookies[SESSION]
    assert key not in cookie
    assert (await visitor.client.get("/jobs")).status_code == 200
    for forged in (key, cookie[:-4] + "AAAA", cookie[4:], "", "é"):
        answer = await visitor.client.get("/jobs", headers={b"cookie": f"{SESSION}={forged}".encode()})
        assert answer.status_code == 303, forged
    monkeypatch.setattr("cronty.web.sessions.LASTS", -1)
    visitor.client.cookies.delete(SESSION)
    await visitor.get("/sign-in")
    await visitor.post("/sign-in", key=key)
    assert (await visitor.client.get("/jobs")).status_code == 303


async def test_the_cookie_of_a_server_with_tls_travels_no_other_way(house: House) -> None:
    key = await house.key("ann", "read")
    app = application(lambda: house.cronty.service, house.by_key())
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=f"https://{HOST}") as client:
        browser = Browser(client)
        await browser.get("/sign-in")
        data = {"csrf": browser.token, "key": key, "next": "https://elsewhere.example/"}
        answer = await client.post("/sign-in", data=data, headers={"origin": f"https://{HOST}"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/"), "and leads nowhere else"
        assert all("Secure" in one for one in answer.headers.get_list("set-cookie"))


async def test_signing_out_forgets_the_key(house: House, visitor: Browser) -> None:
    await sign_in(visitor, await house.key("ann", "read"))
    await visitor.post("/sign-out")
    assert SESSION not in visitor.client.cookies
    assert BROWSER in visitor.client.cookies
    assert (await visitor.client.get("/")).status_code == 303


async def test_a_key_does_what_its_scopes_allow_and_no_more(
    house: House, visitor: Browser, hands: Hands, clock: HandClock
) -> None:
    await house.job("Tea")
    await sign_in(visitor, await house.key("ann", "read"))
    page = await visitor.get("/jobs/1")
    assert "Run now" not in page.text
    assert "Pause" not in page.text.replace("Paused", "")
    for path in (
        "/jobs/1/pause",
        "/jobs/1/run",
        "/jobs/1/delete",
        "/jobs",
        "/settings/keys",
        "/inbox",
        "/runs/redrive",
    ):
        page = await visitor.post(path, 403)
        assert "needs the scope" in page.text
    await visitor.get("/inbox", 403)
    await visitor.get("/jobs/new", 403)
    assert "doesn’t show channels and keys" in (await visitor.get("/settings")).text
    page = await visitor.get("/fleet")
    assert "Only the operator of this server sees its workers" in page.text
    assert page.all("table") == []
    visitor.client.cookies.delete(SESSION)
    await sign_in(visitor, await house.key("ann", "read", "admin"))
    page = await visitor.post("/settings/keys", 403, name="more", scope=["read", "run"])
    assert "A key can't allow more than the one it is made with: run" in page.text


async def test_a_key_that_may_not_read_sees_nothing_of_a_job(house: House, visitor: Browser, hands: Hands) -> None:
    job = await house.job("Tea with the Queen", task="prompt", kwargs={"prompt": "Pour"})
    await house.cronty.service.scheduler.cancel(local_caller("ann"), job.number)
    await visitor.get("/sign-in")
    await visitor.post("/sign-in", key=await house.key("ann", "schedule", "run", "prompts", "admin"), next="/")
    seen = [await visitor.client.get(path) for path in ("/jobs/1/edit", "/jobs/new", "/jobs/1", "/fleet")]
    seen += [await visitor.client.get("/live"), await visitor.client.get("/inbox")]
    for path in ("/jobs/1/pause", "/jobs/1/run", "/jobs/1/edit", "/jobs", "/settings/keys"):
        seen.append(await visitor.client.post(path, data={"csrf": visitor.token}, headers=OURS))
    for answer in seen:
        assert answer.status_code == 403
        assert "Tea" not in answer.text
        assert "Pour" not in answer.text


async def test_only_the_operator_sees_the_fleet(house: House, visitor: Browser, hands: Hands) -> None:
    await hands.engine.lease.beat()
    for owner, tables in (("bob", 0), ("ann", 1)):
        visitor.client.cookies.clear()
        await sign_in(visitor, await house.key(owner, "read", "admin"))
        page = await visitor.get("/fleet")
        assert len(page.all("table")) == tables


async def test_a_frozen_installation_says_so_on_the_page_of_the_workers(house: House, ann: Browser) -> None:
    sentence = "(a copy): nothing fires until `cronty thaw`."
    assert sentence not in (await ann.get("/fleet")).text
    await freeze(house.cronty.database, "a copy")
    assert sentence in (await ann.get("/fleet")).text


async def test_a_database_that_is_away_is_said_calmly(house: House) -> None:
    doors = house.cronty.service
    app = application(lambda: doors, house.locally())
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=ORIGIN) as client:
        await house.cronty.__aexit__()
        for path in ("/", "/jobs", "/fleet"):
            answer = await client.get(path)
            assert answer.status_code == 503
            assert "The database is away" in answer.text
            assert Page(answer.text).flaws() == []


async def test_a_form_of_absurd_size_is_refused(ann: Browser) -> None:
    await ann.get("/jobs")
    answer = await ann.client.post("/jobs", data={"csrf": ann.token, "name": "x" * LARGEST_FORM}, headers=OURS)
    assert answer.status_code == 413
