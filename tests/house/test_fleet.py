"""What `deploy/` starts exists: commands and options, settings, files, and time enough to stop."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cronty.cli.commands import COMMANDS, load_command
from cronty.metrics import ALL
from cronty.settings import SECRET_VARIABLES, Settings
from tests.house.registry_files import ICON

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "docker/Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
UNITS = sorted((DEPLOY / "systemd").rglob("*.service")) + sorted((DEPLOY / "systemd").rglob("*.conf"))
CHART = DEPLOY / "helm/cronty"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
README = (DEPLOY / "README.md").read_text(encoding="utf-8")


class Unit(configparser.RawConfigParser):
    """A unit; of a key that is there several times the last one counts."""

    def __init__(self, path: Path) -> None:
        super().__init__(strict=False, interpolation=None, comment_prefixes=("#",))
        self.optionxform = str  # pyright: ignore[reportAttributeAccessIssue] -- systemd's keys have case
        self.read_string(path.read_text(encoding="utf-8"))


def from_compose() -> Iterator[list[str]]:
    ours = [one for one in COMPOSE["services"].values() if one["image"] == "cronty"]
    yield from (one["command"] for one in ours)


def from_units() -> Iterator[list[str]]:
    for path in UNITS:
        if (line := Unit(path).get("Service", "ExecStart", fallback=None)) is not None:
            program, *words = shlex.split(line.replace("$SERVE_OPTIONS", "").replace("%i", "9126"))
            assert program == "/opt/cronty/bin/cronty"
            yield words


def from_chart() -> Iterator[list[str]]:
    """The lists of `args`, with 1 in the place of every value."""
    for path in (CHART / "templates").glob("*.yaml"):
        text = re.sub(r"^ *\{\{.*\}\}\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for line, lines in re.findall(r" args:(?: \[(.+)\]|((?:\n +- .+)+))", re.sub(r"\{\{[^}]*\}\}", "1", text)):
            yield line.split(", ") if line else [one.strip().removeprefix("- ") for one in lines.strip().splitlines()]


def from_readme() -> Iterator[list[str]]:
    for block in re.findall(r"^```sh\n(.*?)```", README, flags=re.MULTILINE | re.DOTALL):
        for line in re.findall(rf"\bcronty ((?:{'|'.join(COMMANDS)})\b[^|>\n]*)", block):
            yield shlex.split(line)


def parse(words: list[str]) -> None:
    """As the command would, without running it; fails on an unknown command, option or a missing argument."""
    name, *rest = words
    assert name in COMMANDS, f"cronty {name} isn't there"
    command: Any = load_command(name)
    if rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
    command.make_context(name, rest)


@pytest.mark.parametrize(
    ("source", "started"),
    [
        (from_compose, {"migrate", "serve", "work"}),
        (from_units, {"migrate", "serve", "work"}),
        (from_chart, {"migrate", "serve", "work"}),
        (from_readme, {"doctor", "key", "token"}),
    ],
)
def test_every_command_is_one_that_exists(source: Callable[[], Iterator[list[str]]], started: set[str]) -> None:
    found = list(source())
    assert {words[0] for words in found} == started
    for words in found:
        parse(words)
        with pytest.raises(Exception, match="--no-such"):
            parse([*words, "--no-such"])


def test_every_setting_is_one_that_exists() -> None:
    known = {f"CRONTY_{name.upper()}" for name in Settings.model_fields} | {f"{one}_FILE" for one in SECRET_VARIABLES}
    files = [path for path in DEPLOY.rglob("*") if path.is_file() and path.parent.name != "secrets" and path != ICON]
    named = {one for path in files for one in re.findall(r"\bCRONTY_[A-Z_]+", path.read_text(encoding="utf-8"))}
    assert "CRONTY_DATABASE_URL_FILE" in named
    assert named - known == set()


def test_what_the_image_is_made_of_is_there_and_let_through() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    let = {one.removeprefix("!") for one in ignored if one.startswith("!")}
    taken = [word for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, flags=re.M) for word in line.split()]
    files = re.findall(r"-r (\S+)", DOCKERFILE)
    assert sorted(files) == ["requirements/build.txt", "requirements/image.txt"]
    for one in [*taken, *files]:
        assert (ROOT / one).exists(), one
        assert one in let or any(known.startswith(f"{one}/") for known in let), f"{one} is kept out by .dockerignore"
    assert [one for one in let if not (ROOT / one).exists()] == []
    installs = re.findall(r"pip (?:install|wheel) ([^&\n]+)", DOCKERFILE)
    assert len(installs) == 4
    assert [one for one in installs if "--require-hashes" not in one and "--no-deps" not in one] == []


def test_the_image_is_not_root_and_is_asked_at_the_port_it_answers_at() -> None:
    port = re.findall(r"CRONTY_METRICS_PORT=(\d+)", DOCKERFILE)[0]
    assert f"http://127.0.0.1:{port}/health" in DOCKERFILE
    user = re.findall(r"^USER (\d+):\1$", DOCKERFILE, flags=re.M)[0]
    assert int(user) > 0
    assert f"--uid {user} " in DOCKERFILE
    parts = (CHART / "templates/_parts.tpl").read_text(encoding="utf-8")
    assert set(re.findall(r"(?:runAsUser|runAsGroup|fsGroup): (\d+)", parts)) == {user}
    assert f'CRONTY_METRICS_PORT, value: "{port}"' in parts


def test_compose_names_secrets_volumes_and_files_that_are_there() -> None:
    for service in COMPOSE["services"].values():
        assert set(service.get("secrets", [])) <= COMPOSE["secrets"].keys()
        assert set(service.get("depends_on", {})) <= COMPOSE["services"].keys()
        for volume in service.get("volumes", []):
            place = volume.split(":")[0]
            assert place in COMPOSE["volumes"] or (DEPLOY / place).is_file(), place
        if "build" in service:
            assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    for secret in COMPOSE["secrets"].values():
        assert secret["file"] in README, "how it is made is said there"


def test_whoever_is_stopped_gets_longer_than_it_drains() -> None:
    drain = Settings.model_fields["drain"].default
    graces = [one["stop_grace_period"] for one in COMPOSE["services"].values()]
    stops = [Unit(path).get("Service", "TimeoutStopSec", fallback=None) for path in UNITS]
    added = [int(one) for path in CHART.rglob("*.yaml") for one in re.findall(r"drain (\d+)", path.read_text("utf-8"))]
    assert VALUES["drain"] == drain
    assert [int(one) for one in stops if one is not None] == [45, 45]
    assert min(int(one.removesuffix("s")) for one in graces) > drain
    assert len(added) == 2
    assert min(added) > 10


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze isn't installed")
def test_systemd_reads_the_units() -> None:
    units = [str(path).replace("@.", "@9126.") for path in UNITS if path.suffix == ".service"]
    said = subprocess.run(
        ["systemd-analyze", "verify", *units], env={"SYSTEMD_UNIT_PATH": f"{DEPLOY / 'systemd'}:"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line for line in said.stderr.splitlines() if "/systemd/cronty-" in line or line.startswith("cronty-")]
    assert [line for line in lines if "/opt/cronty/bin/cronty is not executable" not in line] == []


def test_the_chart_has_this_version_and_values_that_its_schema_takes() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert (chart["version"], chart["appVersion"]) == (version, version)
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(VALUES, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(VALUES | {"replicas": 3}, schema)
    templates = "".join(path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir())
    assert set(re.findall(r"\.Values\.(\w+)", templates)) == VALUES.keys()


def test_workers_scale_by_the_metric_that_the_adapter_makes() -> None:
    text = (DEPLOY / "prometheus/adapter.yaml").read_text(encoding="utf-8")
    (rule,) = yaml.safe_load(text)["externalRules"]
    told = {metric.name for metric in ALL}
    assert rule["seriesQuery"] in told
    assert set(re.findall(r"\bcronty_\w+", rule["metricsQuery"])) <= told
    assert f"metric: {{name: {rule['name']['as']}}}" in (CHART / "templates/work.yaml").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("helm") is None, reason="helm isn't installed")
@pytest.mark.parametrize("scaled", ["true", "false"])
def test_helm_agrees(scaled: str) -> None:
    option = f"workers.default.autoscaling.enabled={scaled}"
    for command in (["lint", "--strict", CHART], ["template", "cronty", CHART]):
        said = subprocess.run(["helm", *command, "--set", option], capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stdout + said.stderr
