"""Every setting, its default and its meaning; read once, by `app` and `cli` only."""

from pathlib import Path

from platformdirs import user_data_path
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Each one is read from the environment variable `CRONTY_` + its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="CRONTY_", frozen=True)

    database_url: str | None = Field(
        None,
        description="Where PostgreSQL is. Unset: a local server is started from the wheel (`cronty[local]`).",
    )
    replica_url: str | None = Field(
        None,
        description="A streaming replica that answers what people look at (the dashboard's overviews and lists, the "
        "fleet, the trail), as long as it is at most 5 seconds behind. Unset: the database itself does.",
    )
    server_number: int | None = Field(
        None,
        ge=0,
        le=1023,
        description="Which of several database servers this one is, for its first `cronty migrate`. Unset: 0.",
    )
    data_dir: Path = Field(
        default_factory=lambda: user_data_path("cronty"), description="Where the local server keeps its data."
    )
    zone: str = Field("UTC", description="The time zone meant when neither the caller nor the owner names one.")
    concurrency: int = Field(50, ge=1, le=10_000, description="How many runs a worker performs at once.")
    lease: float = Field(
        30.0, ge=1, description="Seconds without a heartbeat after which a worker's runs are given to others."
    )
    drain: float = Field(30.0, ge=0, description="Seconds a stopping worker gives its runs to finish.")
    patience: float = Field(
        60.0,
        ge=0,
        description="Seconds that `cronty work` and `cronty serve` wait for a database that is away when they start.",
    )
    door_connections: int = Field(
        8,
        ge=1,
        le=1000,
        description="How many connections a process opens for what is asked of it; one owner uses half.",
    )
    engine_connections: int = Field(
        8, ge=3, le=1000, description="How many connections an engine opens, beside the one that listens."
    )
    keep_days: float = Field(90.0, ge=1, description="Days of run history to keep.")
    log_level: str = Field("INFO", description="How much to log, on standard error.")
    public_url: str = Field(
        "http://127.0.0.1:8125/mcp", description="Where clients reach this server; tokens must be meant for it."
    )
    jwt_secret: SecretStr | None = Field(None, description="Signs our own tokens (`cronty token issue`).")
    oidc_issuer: str | None = Field(None, description="An identity provider whose tokens are accepted.")
    oidc_jwks_url: str | None = Field(None, description="Where that provider publishes its keys.")
    limits: str = Field(
        "", description="JSON of how much every owner may have and do, where it differs from the defaults (limits.md)."
    )
    run: str | None = Field(
        None,
        description="The run that started this process, set for the programs of agents; its jobs are its children.",
    )
    agents_file: Path | None = Field(
        None, description="A TOML file of the agents there are and how each is woken. Unset: prompts wait in the inbox."
    )
    commands_file: Path | None = Field(
        None,
        description="A TOML file of the commands that `cronty import crontab` has taken over. Unset with the local "
        "server: `commands.toml` in the data folder.",
    )
    ntfy_url: str = Field("https://ntfy.sh", description="The ntfy server that delivers push notifications.")
    ntfy_token: SecretStr | None = Field(None, description="An access token for that server.")
    webhook_secrets: str = Field(
        "", description="What webhooks are signed with (`whsec_…`), two with a comma while receivers change over."
    )
    allowed_hosts: str = Field(
        "", description="Private hosts that may be called (`host` or `host:port`, comma-separated), by plain http too."
    )
    secret_key: SecretStr | None = Field(
        None,
        description="What channels are encrypted and archived months of the trail signed with (`cronty key` makes "
        "one); more after a comma, which only open. "
        "Unset with the local server: `secret.key` in the data folder.",
    )
    channel_schemes: str = Field(
        "mailto,mailtos,slack,discord,tgram,workflows,pover,gotify,gotifys",
        description="What a channel may be besides ntfy, as Apprise calls it (`cronty[apprise]`).",
    )

    @property
    def commands(self) -> Path | None:
        """Where the commands of this machine are declared; None if it runs none."""
        if self.commands_file is not None:
            return self.commands_file
        return self.data_dir.expanduser() / "commands.toml" if self.database_url is None else None
