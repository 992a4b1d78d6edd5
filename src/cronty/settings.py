"""Every setting, its default and its meaning; read once, by `app` and `cli` only."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, override

from pydantic import Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from cronty.data_folder import default_data_folder
from cronty.own_files import NotOurs, read_own

SECRET: Final = ("database_url", "direct_url", "replica_url", "jwt_secret", "ntfy_token", "secret_key")
"""Settings that nobody else may read. Each may be given as a file instead, named by its variable + `_FILE`."""

SECRET_VARIABLES: Final = tuple(f"CRONTY_{name.upper()}" for name in SECRET)

_taken: dict[str, str] = {}


class BadSetting(ValueError):
    """A setting that can't be used; the text names it and never holds a secret."""


def in_words(wrong: ValidationError, given: Mapping[str, object] | None = None) -> str:
    """What is wrong with the first setting that is, by its variable or, if it is among those `given`, its argument."""
    first = wrong.errors()[0]
    name = str(first["loc"][0])
    called = name if name in (given or {}) else f"CRONTY_{name.upper()}"
    return f"{called} is {first['input']!r}: {first['msg']}"


def _data_folder() -> Path:
    try:
        return default_data_folder()
    except RuntimeError:
        raise BadSetting("This user has no home: set CRONTY_DATA_DIR to a folder for Cronty's data.") from None


def remember(taken: Mapping[str, str]) -> None:
    """Keep variables that were taken out of the environment, for every `Settings` that is made later."""
    _taken.update(taken)


class Settings(BaseSettings):
    """Each one is read from the environment variable `CRONTY_` + its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="CRONTY_", frozen=True)

    @override
    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _OutOfSight(settings_cls)

    database_url: str | None = Field(
        None,
        description="Where PostgreSQL is. Unset: a local server is started from the wheel (`cronty[local]`).",
    )
    direct_url: str | None = Field(
        None,
        description="PostgreSQL's own address if `CRONTY_DATABASE_URL` names a pooler in transaction mode, such as "
        "PgBouncer: to listen, to take turns and to migrate. Unset: the same.",
    )
    replica_url: str | None = Field(
        None,
        description="A streaming replica for the dashboard's overviews and lists, the fleet and the trail, used while "
        "it is at most 5 seconds behind. Unset: the database itself is used.",
    )
    server_number: int | None = Field(
        None,
        ge=0,
        le=1023,
        description="This database server's number if there are several, for the first `cronty migrate`. Unset: 0.",
    )
    data_dir: Path = Field(
        default_factory=_data_folder,
        description="Where the local server keeps its data, and `cronty serve` the key of whoever runs it.",
    )
    zone: str = Field(
        "UTC",
        description="The time zone used when neither the caller nor the owner names one. Unset with the local server: "
        "the owner gets the machine's at the first start.",
    )
    ahead: bool | None = Field(
        None,
        description="Whether ntfy channels may get reminders ahead of their time, so that they ring with this machine "
        "off. Unset: yes with the local server, no with CRONTY_DATABASE_URL, where others share the machine.",
    )
    concurrency: int = Field(50, ge=1, le=10_000, description="How many runs a worker performs at once.")
    queues: str = Field(
        "",
        description="The queues whose tasks a worker performs, separated by commas (`cronty work --queue`); `default` "
        "has those that name none. Unset: all.",
    )
    lease: float = Field(
        30.0, ge=1, description="Seconds without a heartbeat after which a worker's runs are given to others."
    )
    drain: float = Field(30.0, ge=0, description="Seconds a stopping worker gives its runs to finish.")
    patience: float = Field(
        60.0,
        ge=0,
        description="Seconds that `cronty work` and `cronty serve` wait at start for a database that doesn't answer.",
    )
    door_connections: int = Field(
        8,
        ge=1,
        le=1000,
        description="How many connections a process opens to answer requests; one owner uses at most half of them.",
    )
    engine_connections: int = Field(
        8, ge=3, le=1000, description="How many connections an engine opens, besides the one that listens."
    )
    keep_days: float = Field(90.0, ge=1, description="Days of run history to keep.")
    log_level: str = Field("INFO", description="How much to log, on standard error.")
    log_format: Literal["text", "json"] = Field("text", description="How: a line of `text` or of `json` each time.")
    metrics_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="The port at which `cronty work` and `cronty serve` answer /metrics, /health and /ready, without "
        "a key; 0 for any free one. Unset: none.",
    )
    metrics_host: str = Field(
        "127.0.0.1",
        description="The address of that port. Whoever reaches it reads figures of the whole installation.",
    )
    public_url: str = Field(
        "http://127.0.0.1:8125/mcp",
        description="The URL at which clients reach this server; tokens must be issued for it. If a phone "
        "reaches it too, reminders over ntfy have buttons (phone.md); workers need it for that as well.",
    )
    jwt_secret: SecretStr | None = Field(None, description="Signs our own tokens (`cronty token issue`).")
    oidc_issuer: str | None = Field(None, description="An identity provider whose tokens are accepted.")
    oidc_jwks_url: str | None = Field(None, description="Where that provider publishes its keys.")
    limits: str = Field("", description="Limits for every owner that differ from the defaults, as JSON (limits.md).")
    run: str | None = Field(
        None,
        description="The run that started this process, set for the programs of agents; its jobs are its children.",
    )
    agents_file: Path | None = Field(
        None, description="A TOML file of the agents and how each is woken. Unset: prompts wait in the inbox."
    )
    commands_file: Path | None = Field(
        None,
        description="A TOML file of the commands that `cronty import crontab` has taken over. Unset with the local "
        "server: `commands.toml` in the data folder.",
    )
    ntfy_url: str = Field("https://ntfy.sh", description="The ntfy server that delivers push notifications.")
    ntfy_token: SecretStr | None = Field(None, description="An access token for that server.")
    ntfy_token_owners: str = Field(
        "",
        description="Whose notifications go with that token, comma-separated; `*` for everybody's. Unset: those of the "
        "owner of the installation.",
    )
    allowed_hosts: str = Field(
        "",
        description="Private hosts that may be called, by plain http too: `host` or `host:port`, comma-separated. For "
        "what the operator has set up and the owner of the installation; with `@ann` after it for that owner, with "
        "`@*` for everybody.",
    )
    secret_key: SecretStr | None = Field(
        None,
        description="What channels are encrypted with, and webhooks and archived months of the trail signed (`cronty "
        "key` makes one). Further keys after commas only decrypt and sign webhooks. "
        "Unset with the local server: `secret.key` in the data folder.",
    )
    heads_dir: Path | None = Field(
        None,
        description="A folder out of the database's reach, such as one of another machine, where workers keep signed "
        "heads of the trail every minute; `cronty audit verify` compares. Needs `CRONTY_SECRET_KEY`. Unset: none are "
        "kept.",
    )
    channel_schemes: str = Field(
        "mailto,mailtos,slack,discord,tgram,workflows,pover,gotify,gotifys",
        description="What a channel may be besides ntfy, as Apprise calls it (`cronty[apprise]`).",
    )

    @property
    def secret_places(self) -> list[Path]:
        """Folders and files that nobody who works for a caller may read: ours, and the way to other programs of our
        user, who could be asked to read them."""
        return [
            self.data_dir,
            Path(f"/run/user/{os.geteuid()}"),
            Path("/run/screen"),
            *(path for name in SECRET if (path := _file_of(name)) is not None),
        ]

    @property
    def commands(self) -> Path | None:
        """Where the commands of this machine are declared; None if it runs none."""
        if self.commands_file is not None:
            return self.commands_file
        return self.data_dir.expanduser() / "commands.toml" if self.database_url is None else None


class _OutOfSight(PydanticBaseSettingsSource):
    """Secrets that aren't in the environment: in files, or taken out of it when the process started."""

    @override
    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        path = _file_of(field_name)
        value = _taken.get(f"CRONTY_{field_name.upper()}") if path is None else _read_secret(field_name, path)
        return value, field_name, False

    @override
    def __call__(self) -> dict[str, Any]:
        found = {name: self.get_field_value(FieldInfo(), name)[0] for name in SECRET}
        return {name: value for name, value in found.items() if value is not None}


def _file_of(name: str) -> Path | None:
    given = os.environ.get(f"CRONTY_{name.upper()}_FILE")
    return Path(given) if given else None


def _read_secret(name: str, path: Path) -> str:
    variable = f"CRONTY_{name.upper()}_FILE"
    try:
        return read_own(path, 0o037).decode().strip()
    except NotOurs as others:
        raise BadSetting(f"{variable}: {path} {others.flaw}. Fix it with: {others.mend}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"{variable}: {path} can't be read: {error}.") from None
