"""From a bearer token to a caller: our own API keys, our own JWTs, and those of an identity provider."""

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast

import orjson

from cronty.actions.tasks import PermanentError, RetryAfter
from cronty.contract.caller import SCOPES, Caller, read_scopes
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.api_key import is_secret_of, key_hash, key_text, read_key
from cronty.lazily import imported_when_used
from cronty.store.key_store import MAX_KEYS, KeyStore
from cronty.store.key_store import KeyInfo as KeyInfo

if TYPE_CHECKING:
    import jwt
    from jwt.types import Options
else:
    jwt = imported_when_used("jwt")

OURS: Final = "HS512"
THEIRS: Final[Mapping[str, Sequence[str]]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}
"""Which algorithms a provider's key may sign with, by the key's own type."""

MAX_TOKEN: Final = 8192
KEYS_FOR: Final = 600.0
ASK_AGAIN_AFTER: Final = 30.0
SHORTEST_SECRET: Final = 32
_ISSUER: Final = "cronty"
_BLOCK: Final = 128
_LAST_SECOND: Final = 253_402_300_799  # of the year 9999

log = logging.getLogger("cronty.identity")

type Fetch = Callable[[str], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Provider:
    """An identity provider whose tokens are accepted. `fetch` gets its keys, through the guard."""

    issuer: str
    jwks_url: str
    fetch: Fetch


class WeakSecret(Exception):
    """The secret that signs our tokens could be guessed."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """`text` is shown only once; `number` is the key's number for its owner."""

    number: int
    text: str


class Identity:
    """`audience` is this server's name, which a token must be issued for. `secret` signs our own tokens."""

    def __init__(
        self, store: KeyStore, audience: str, secret: str | None = None, provider: Provider | None = None
    ) -> None:
        self._store = store
        self._audience = audience
        self._secret = None if secret is None else _signing_key(secret)
        self._provider = provider
        self._keys: dict[str, jwt.PyJWK] = {}
        self._asked = -ASK_AGAIN_AFTER

    # -- who is calling -----------------------------------------------------------------------------------------

    async def identify(self, token: str) -> Result[Caller]:
        """The caller that a token identifies. Why a token is refused goes only to our log."""
        if len(token) > MAX_TOKEN:
            return _refused("it is too long")
        if (key := read_key(token)) is not None:
            return await self._by_key(*key)
        try:
            claims = await self._claims(token)
        except jwt.PyJWTError as bad:
            return _refused(type(bad).__name__)
        if claims is None:
            return _refused("it is neither a key nor a token from a known issuer")
        subject = claims.get("sub")
        if not isinstance(subject, str) or not 0 < len(subject) <= 200 or not subject.isprintable():
            return _refused("it has no subject")
        ours = claims.get("iss") == _ISSUER
        owner = subject if ours else f"{claims['iss']}|{subject}"
        agent = claims.get("agent")
        if agent is not None and not is_agent(agent):
            return _refused("its agent can't be one")
        return Ok(Caller(owner, read_scopes(_scopes(claims)), agent, expires_at=_end_of(claims)))

    async def _by_key(self, key_id: int, secret: str) -> Result[Caller]:
        row = await self._store.find(key_id)
        if row is None or not is_secret_of(secret, row["hash"]):
            return _refused("no such key")
        if row["stale"]:
            await self._store.touch(row["owner"], key_id)
        scopes, number, name = read_scopes(row["scopes"]), row["number"], row["name"]
        return Ok(
            Caller(row["owner"], scopes, row["agent"], key_id, number, key_name=name, expires_at=row["expires_at"])
        )

    async def _claims(self, token: str) -> Mapping[str, Any] | None:
        """The claims of a valid token; None if its issuer is unknown. We choose the algorithm, never the token."""
        claimed = jwt.decode(token, options={"verify_signature": False})
        required: Options = {"require": ["exp", "iss", "sub", "aud"]}
        if claimed.get("iss") == _ISSUER and self._secret is not None:
            return jwt.decode(
                token, self._secret, [OURS], options=required, audience=self._audience, issuer=_ISSUER, leeway=5
            )
        if self._provider is None or claimed.get("iss") != self._provider.issuer:
            return None
        key = await self._key(jwt.get_unverified_header(token).get("kid"))
        if key is None:
            return None
        return jwt.decode(
            token,
            key.key,
            THEIRS.get(str(key.key_type), ()),
            options=required,
            audience=self._audience,
            issuer=self._provider.issuer,
            leeway=5,
        )

    async def _key(self, key_id: object) -> "jwt.PyJWK | None":
        """The provider's key of that id; asks again if it isn't known, but not at every caller's whim."""
        assert self._provider is not None
        since = monotonic() - self._asked
        if since > KEYS_FOR or (key_id not in self._keys and since > ASK_AGAIN_AFTER):
            self._asked = monotonic()
            try:
                found = cast("dict[str, Any]", orjson.loads(await self._provider.fetch(self._provider.jwks_url)))
                self._keys = {str(key.key_id): key for key in jwt.PyJWKSet.from_dict(found).keys}
            except (PermanentError, RetryAfter, ValueError, jwt.PyJWTError) as away:  # the keys it had stay good
                log.warning("the keys of %s can't be fetched: %s", self._provider.issuer, away)
        return self._keys.get(str(key_id))

    # -- making tokens ------------------------------------------------------------------------------------------

    def issue(
        self, owner: str, lasts: timedelta, scopes: Sequence[str] = SCOPES, agent: str | None = None
    ) -> Result[str]:
        """A JWT signed by us. It can't be revoked; give it a short life, or make a key."""
        if self._secret is None:
            return Err("no_secret", "There is no secret to sign with.", "Set CRONTY_JWT_SECRET (cronty key makes one).")
        if wrong := _check(owner, scopes) or (None if agent is None else _flaw_of_agent(agent)):
            return wrong
        now = datetime.now(UTC)
        claims = {"iss": _ISSUER, "sub": owner, "aud": self._audience, "iat": now, "exp": now + lasts}
        claims |= {"scope": " ".join(scopes)} | ({"agent": agent} if agent else {})
        return Ok(jwt.encode(claims, self._secret, OURS))

    async def add_key(
        self,
        caller: Caller,
        name: str,
        scopes: Sequence[str] = SCOPES,
        *,
        agent: str | None = None,
        expires_at: datetime | None = None,
    ) -> Result[NewKey]:
        """Make a key for the caller's owner. It can't allow more than the caller's own token, ends with it at the
        latest, and is revoked with it."""
        scopes = list(dict.fromkeys(scopes))
        if wrong := _check(caller.owner, scopes) or _beyond(caller, scopes, agent) or _outlives(caller, expires_at):
            return wrong
        if agent is not None and (wrong := _flaw_of_agent(agent)):
            return wrong
        if not 0 < len(name.strip()) <= 100 or not name.isprintable():
            return Err("bad_name", f"Invalid name: {name[:80]!r}", "Give the key a name of 1 to 100 characters.")
        secret, ends = secrets.token_urlsafe(32), expires_at or caller.expires_at
        made = await self._store.add(caller, name, key_hash(secret), scopes, agent, ends)
        if made == "too many":
            return Err("too_many_keys", f"There are {MAX_KEYS} keys already.", "Revoke one that isn't used any more.")
        if made == "revoked":
            return _refused("it was revoked while it made a key")
        key_id, number = made
        return Ok(NewKey(number, key_text(key_id, secret)))

    async def keys(self, caller: Caller) -> list[KeyInfo]:
        return await self._store.of_owner(caller.owner)

    async def revoke(self, caller: Caller, number: int) -> Result[None]:
        """Revoke a key and the keys that were made with it; the jobs they made pause."""
        if not await self._store.revoke(caller, number):
            return Err("not_found", f"Key not found: {number}", "It may be revoked already.")
        return Ok(None)


def _signing_key(secret: str) -> bytes:
    """The secret padded with zeros, as HMAC does anyway: the signatures are the same, and PyJWT accepts its length."""
    given = secret.encode()
    if len(given) < SHORTEST_SECRET:
        raise WeakSecret(
            f"CRONTY_JWT_SECRET has {len(given)} bytes; with fewer than {SHORTEST_SECRET} the tokens it signs could be "
            "forged. `cronty key` prints a good one."
        )
    return given.ljust(_BLOCK, b"\0")


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    found = claims.get("scope", claims.get("scp", ""))
    if isinstance(found, str):
        return found.split()
    return [str(one) for one in cast("list[object]", found)] if isinstance(found, list) else []


def _end_of(claims: Mapping[str, Any]) -> datetime:
    """When a token ends; it has been checked to be a number."""
    return datetime.fromtimestamp(min(int(claims["exp"]), _LAST_SECOND), UTC)


def is_agent(name: object) -> TypeGuard[str]:
    """Whether a key or a token can be for an agent of this name."""
    return isinstance(name, str) and 0 < len(name) <= 100 and name.isprintable()


def _check(owner: str, scopes: Sequence[str]) -> Err | None:
    unknown = next((scope for scope in scopes if scope not in SCOPES), None)
    if unknown is not None or not scopes:
        what = "none" if unknown is None else unknown[:80]
        return Err("bad_scope", f"Unknown scope: {what}", f"Use any of: {', '.join(SCOPES)}.")
    if not 0 < len(owner) <= 200 or not owner.isprintable():
        return Err("bad_owner", f"Invalid owner: {owner[:80]!r}", "Use 1 to 200 printable characters.")
    return None


def _flaw_of_agent(name: str) -> Err | None:
    if is_agent(name):
        return None
    return Err("bad_agent", f"Invalid agent: {name[:80]!r}", "Use 1 to 100 printable characters, or none.")


def _beyond(caller: Caller, scopes: Sequence[str], agent: str | None) -> Err | None:
    """Why a caller may not make a key with these scopes for this agent, or None."""
    lacking = [scope for scope in scopes if scope not in caller.scopes]
    if lacking:
        return Err(
            "missing_scope",
            f"A key can't allow more than the one it is made with: {lacking[0]}.",
            f"Leave it out, or use a key with the scope {lacking[0]}.",
        )
    if caller.agent is not None and agent != caller.agent:
        return Err("bad_agent", f"A key made by agent {caller.agent} is for that agent.", f"Name agent {caller.agent}.")
    return None


def _outlives(caller: Caller, expires_at: datetime | None) -> Err | None:
    """Why a caller may not make a key that ends so late, or None."""
    last = caller.expires_at
    if last is None or expires_at is None or expires_at <= last:
        return None
    message = f"A key can't outlive the one it is made with, which ends at {last.isoformat(timespec='seconds')}."
    return Err(
        "bad_time", message, "Give an earlier expires_at, or leave it out: then it ends with that one.", "expires_at"
    )


def _refused(why: str) -> Err:
    """One answer for every bad token, so that guessing tokens teaches an attacker nothing."""
    return Err("bad_token", "The token isn't valid.", "Use another; it may be revoked or expired.", reason=why)
