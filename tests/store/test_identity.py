"""Who is calling: keys and tokens that are good, and every way in which they aren't."""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import jwt
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from cronty.contract.caller import SCOPES, Caller, local_caller
from cronty.contract.result import Err, Ok
from cronty.jobs.api_key import read_key
from cronty.scheduler import Scheduler
from cronty.scheduler import identity as identity_module
from cronty.scheduler.identity import Identity, NewKey, Provider
from cronty.store.database import Database
from cronty.store.key_store import KeyStore
from tests.conftest import START, HandClock, Hands, add, look
from tests.patience import PATIENCE

HERE = "https://cronty.example.com/mcp"
SECRET = "s" * 64
ISSUER = "https://id.example.com"


class IdentityProvider:
    """A provider with keys of its own; counts how often it is asked for them."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {"one": rsa.generate_private_key(65537, 2048)}
        self.asked = 0

    async def fetch(self, url: str) -> bytes:
        assert url == f"{ISSUER}/keys"
        self.asked += 1
        public = [
            {**orjson.loads(_algorithm(key).to_jwk(key.public_key())), "kid": name, "use": "sig"}
            for name, key in self.keys.items()
        ]
        return orjson.dumps({"keys": public})

    def token(self, *, kid: str = "one", key: Any = None, algorithm: str = "RS256", **changes: Any) -> str:
        return jwt.encode({**claims(iss=ISSUER), **changes}, key or self.keys[kid], algorithm, headers={"kid": kid})


def _algorithm(key: Any) -> Any:
    return ECAlgorithm if isinstance(key, ec.EllipticCurvePrivateKey) else RSAAlgorithm


def claims(**changes: Any) -> dict[str, Any]:
    now = datetime.now(UTC)
    usual = {
        "iss": "cronty",
        "sub": "ann@example.com",
        "aud": HERE,
        "exp": now + timedelta(hours=1),
        "scope": "read run",
    }
    return {**usual, **changes}


@pytest.fixture
def provider() -> IdentityProvider:
    return IdentityProvider()


@pytest.fixture
def identity(database: Database, provider: IdentityProvider) -> Identity:
    return Identity(KeyStore(database), HERE, SECRET, Provider(ISSUER, f"{ISSUER}/keys", provider.fetch))


async def new_key(identity: Identity, **given: Any) -> NewKey:
    made = await identity.add_key(local_caller("ann"), "laptop", **given)
    assert isinstance(made, Ok), made
    return made.value


async def test_a_key_stands_for_its_owner_with_its_scopes(identity: Identity, sql: asyncpg.Connection) -> None:
    key = await new_key(identity, scopes=["read", "prompts"], agent="claude")
    who, parts = await identity.identify(key.text), read_key(key.text)
    assert parts is not None
    assert who == Ok(Caller("ann", frozenset({"read", "prompts"}), "claude", parts[0], key.number, "laptop"))
    stored = await sql.fetchrow("select * from cronty.api_keys")
    assert stored is not None
    assert parts[1] not in str(dict(stored)), "only a hash of it is kept"
    assert stored["last_used_at"] is not None


async def test_a_scope_is_kept_once_however_often_it_is_named(identity: Identity, sql: asyncpg.Connection) -> None:
    await new_key(identity, scopes=["prompts", "read"] * 1000)
    assert await sql.fetchval("select scopes from cronty.api_keys") == ["prompts", "read"]
    refused = await identity.add_key(local_caller("ann"), "a key", ["x" * 1000])
    assert isinstance(refused, Err)
    assert len(refused.message) < 200


async def test_a_key_that_ran_out_or_was_revoked_stands_for_nobody(identity: Identity, clock: HandClock) -> None:
    short = await new_key(identity, expires_at=START + timedelta(minutes=5))
    long = await new_key(identity)
    clock.advance(minutes=6)
    assert isinstance(await identity.identify(short.text), Err)
    assert isinstance(await identity.identify(long.text), Ok)
    assert isinstance(await identity.revoke(local_caller("eve"), long.number), Err), (
        "somebody else's key isn't hers to revoke"
    )
    assert await identity.revoke(local_caller("ann"), long.number) == Ok(None)
    assert isinstance(await identity.identify(long.text), Err)
    assert isinstance(await identity.revoke(local_caller("ann"), long.number), Err)
    assert [key.revoked_at is not None for key in await identity.keys(local_caller("ann"))] == [False, True]


async def test_a_key_with_a_wrong_secret_or_id_stands_for_nobody(identity: Identity) -> None:
    key = await new_key(identity)
    key_id = key.text.split("_")[1]
    another_id = key.text.replace(key_id, str(int(key_id) + 1024))
    for odd in (key.text[:-1] + ("A" if key.text[-1] != "A" else "B"), another_id, "cronty_1_", ""):
        assert isinstance(await identity.identify(odd), Err)


async def test_a_token_of_ours_stands_for_its_subject(identity: Identity) -> None:
    made = identity.issue("ann@example.com", timedelta(days=30), ["read"], agent="claude")
    assert isinstance(made, Ok)
    assert jwt.get_unverified_header(made.value)["alg"] == "HS512"
    who = await identity.identify(made.value)
    assert isinstance(who, Ok)
    assert replace(who.value, expires_at=None) == Caller("ann@example.com", frozenset({"read"}), "claude")
    assert who.value.expires_at is not None
    assert timedelta(days=29) < who.value.expires_at - datetime.now(UTC) <= timedelta(days=30)


async def test_a_token_of_the_provider_stands_for_a_subject_that_nobody_else_can_be(
    identity: Identity, provider: IdentityProvider
) -> None:
    who = await identity.identify(provider.token())
    assert isinstance(who, Ok)
    assert replace(who.value, expires_at=None) == Caller(f"{ISSUER}|ann@example.com", frozenset({"read", "run"}))


@pytest.mark.parametrize("algorithm", ["ES256", "ES512", "EdDSA", "HS256", "none", "RS256"])
async def test_a_token_whose_algorithm_is_not_of_its_key_is_refused_and_nothing_breaks(
    identity: Identity, provider: IdentityProvider, algorithm: str
) -> None:
    _, payload, signature = provider.token().split(".")
    head = b64encode(orjson.dumps({"alg": algorithm, "typ": "JWT", "kid": "one"})).decode().rstrip("=")
    for tail in ("", "AAAA", signature[::-1]):
        assert isinstance(await identity.identify(f"{head}.{payload}.{tail}"), Err)


@pytest.mark.parametrize("scope", [7, True, {"read": 1}, [7, None], 1.5])
async def test_scopes_that_are_no_text_are_none(identity: Identity, scope: object) -> None:
    for name in ("scope", "scp"):
        odd = {key: value for key, value in claims().items() if key != "scope"} | {name: scope}
        who = await identity.identify(jwt.encode(odd, SECRET.ljust(128, "\0"), "HS512"))
        assert isinstance(who, Ok)
        assert who.value.scopes == frozenset()


@pytest.mark.parametrize("agent", ["", "a" * 101, "two\nlines", 7, ["claude"]])
async def test_a_token_for_an_agent_that_cannot_be_one_is_refused(identity: Identity, agent: object) -> None:
    """Without the agent it would be free of an agent's limits."""
    token = jwt.encode(claims(agent=agent), SECRET.ljust(128, "\0"), "HS512")
    assert isinstance(await identity.identify(token), Err)


async def test_the_providers_keys_may_be_rotated(
    identity: Identity, provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(await identity.identify(provider.token()), Ok)
    provider.keys = {"two": ec.generate_private_key(ec.SECP256R1())}
    fresh = provider.token(kid="two", algorithm="ES256")
    assert isinstance(await identity.identify(fresh), Err), "nobody makes us ask at every call"
    assert provider.asked == 1
    monkeypatch.setattr(identity_module, "ASK_AGAIN_AFTER", 0)
    assert isinstance(await identity.identify(fresh), Ok)
    assert provider.asked == 2


BAD: dict[str, Callable[[IdentityProvider], str]] = {
    "expired": lambda _: jwt.encode(claims(exp=datetime.now(UTC) - timedelta(minutes=1)), SECRET, "HS512"),
    "another audience": lambda _: jwt.encode(claims(aud="https://other.example.com"), SECRET, "HS512"),
    "no audience": lambda _: jwt.encode({k: v for k, v in claims().items() if k != "aud"}, SECRET, "HS512"),
    "no end": lambda _: jwt.encode({k: v for k, v in claims().items() if k != "exp"}, SECRET, "HS512"),
    "no subject": lambda _: jwt.encode({k: v for k, v in claims().items() if k != "sub"}, SECRET, "HS512"),
    "an empty subject": lambda _: jwt.encode(claims(sub=""), SECRET, "HS512"),
    "another issuer": lambda _: jwt.encode(claims(iss="https://evil.example.com"), SECRET, "HS512"),
    "no algorithm": lambda _: jwt.encode(claims(), "", "none"),
    "another algorithm": lambda _: jwt.encode(claims(), SECRET, "HS256"),
    "another secret": lambda _: jwt.encode(claims(), "x" * 64, "HS512"),
    "their issuer by our secret": lambda _: jwt.encode(claims(iss=ISSUER), SECRET, "HS512", headers={"kid": "one"}),
    "our issuer by their key": lambda provider: provider.token(iss="cronty"),
    "their issuer by another's key": lambda provider: provider.token(key=rsa.generate_private_key(65537, 2048)),
    "their issuer, unknown key": lambda provider: provider.token(kid="nine", key=provider.keys["one"]),
    "not a token": lambda _: "eyJhbGciOiJub25lIn0.e30.",
    "huge": lambda _: "a" * 10_000,
}


@pytest.mark.parametrize("how", BAD)
async def test_a_bad_token_stands_for_nobody_and_is_told_nothing(
    how: str, identity: Identity, provider: IdentityProvider
) -> None:
    result = await identity.identify(BAD[how](provider))
    assert isinstance(result, Err), how
    assert (result.code, result.message) == ("bad_token", "The token isn't valid.")
    assert (result.hint, bool(result.reason)) == ("Use another; it may be revoked or expired.", True)


@pytest.mark.parametrize("scopes", [[], ["everything"], ["read", "root"]])
async def test_a_scope_that_does_not_exist_is_refused(identity: Identity, scopes: list[str]) -> None:
    made = await identity.add_key(local_caller("ann"), "laptop", scopes)
    assert isinstance(made, Err)
    assert ", ".join(SCOPES) in made.hint


async def test_scopes_we_do_not_know_mean_nothing(identity: Identity) -> None:
    token = jwt.encode(claims(scope="read superuser"), SECRET, "HS512")
    who = await identity.identify(token)
    assert isinstance(who, Ok)
    assert who.value.scopes == {"read"}


# -- keys that are made with keys ---------------------------------------------------------------------------------


async def caller_of(identity: Identity, key: NewKey) -> Caller:
    who = await identity.identify(key.text)
    assert isinstance(who, Ok), who
    return who.value


async def made_with(identity: Identity, caller: Caller, **given: Any) -> NewKey:
    made = await identity.add_key(caller, "made with another", ["admin", "schedule"], **given)
    assert isinstance(made, Ok), made
    return made.value


async def test_a_key_ends_with_the_one_it_was_made_with_at_the_latest(identity: Identity, clock: HandClock) -> None:
    ends = START + timedelta(hours=1)
    parent = await caller_of(identity, await new_key(identity, expires_at=ends))
    late = await identity.add_key(parent, "late", ["read"], expires_at=ends + timedelta(seconds=1))
    assert isinstance(late, Err)
    assert (late.code, late.field) == ("bad_time", "expires_at")
    child = await caller_of(identity, await made_with(identity, parent))
    assert child.expires_at == ends, "without an end it would outlive it"
    early = await made_with(identity, child, expires_at=START + timedelta(minutes=1))
    assert (await caller_of(identity, early)).expires_at == START + timedelta(minutes=1)
    clock.moment = ends
    assert isinstance(await identity.identify(early.text), Err)


async def test_a_token_that_ends_makes_no_key_that_does_not(identity: Identity) -> None:
    token = identity.issue("ann", timedelta(hours=1))
    assert isinstance(token, Ok)
    who = await identity.identify(token.value)
    assert isinstance(who, Ok)
    await made_with(identity, who.value)
    [key] = await identity.keys(who.value)
    assert key.expires_at == who.value.expires_at


async def test_a_key_falls_with_the_one_it_was_made_with(
    identity: Identity, door: Scheduler, hands: Hands, sql: asyncpg.Connection
) -> None:
    first = await new_key(identity)
    child = await made_with(identity, await caller_of(identity, first))
    grandchild = await made_with(identity, await caller_of(identity, child))
    apart = await new_key(identity)
    job = await add(door, caller=await caller_of(identity, grandchild))
    assert await identity.revoke(local_caller("ann"), first.number) == Ok(None)
    for key in (first, child, grandchild):
        assert isinstance(await identity.identify(key.text), Err)
    assert isinstance(await identity.identify(apart.text), Ok)
    assert (await look(door, job)).state == "paused"
    told = await sql.fetch("select before ->> 'with' from cronty.audit_unsealed where what = 'key revoked' order by id")
    assert [row[0] for row in told] == [None, str(first.number), str(first.number)]


async def test_a_key_that_is_being_revoked_makes_no_other(identity: Identity, sql: asyncpg.Connection) -> None:
    key = await new_key(identity)
    caller = await caller_of(identity, key)
    revoking = sql.transaction()
    await revoking.start()
    await sql.execute("update cronty.api_keys set revoked_at = now()")
    making = asyncio.create_task(identity.add_key(caller, "late", ["read"]))
    async with asyncio.timeout(PATIENCE):
        while not await sql.fetchval("select exists (select from pg_locks where not granted)"):
            await asyncio.sleep(0.001)
        await revoking.commit()
        assert isinstance(await making, Err)
    assert await sql.fetchval("select count(*) from cronty.api_keys") == 1


async def test_an_owner_has_so_many_good_keys_and_no_more(identity: Identity, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cronty.store.key_store.MAX_KEYS", 2)
    keys = [await new_key(identity) for _ in range(2)]
    over = await identity.add_key(local_caller("ann"), "third")
    assert isinstance(over, Err)
    assert over.code == "too_many_keys"
    assert isinstance(await identity.add_key(local_caller("bob"), "his"), Ok)
    await identity.revoke(local_caller("ann"), keys[0].number)
    await new_key(identity)


async def test_keys_that_are_made_at_once_are_no_more_than_there_may_be(
    identity: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronty.store.key_store.MAX_KEYS", 3)
    await new_key(identity)
    made = await asyncio.gather(*(identity.add_key(local_caller("ann"), "laptop") for _ in range(12)))
    assert sum(isinstance(one, Ok) for one in made) == 2
