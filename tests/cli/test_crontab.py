"""Crontabs taken over: sixty lines as people write them, each with its result; there and back; run for real."""

import asyncio
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest
from typer.testing import CliRunner, Result

from cronty import Cronty
from cronty.actions.shell import BadCommands, Declared, declare, read_commands
from cronty.cli.crontab_lines import Planned, Refusal, read_crontab
from cronty.cli.main import app
from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob, ScheduleJob
from cronty.contract.result import Err
from tests.patience import PATIENCE

type Say = Callable[..., Result]

SETTING = None
# Each line, and what becomes of it: the expression it is scheduled by, or words of the reason why it isn't.
LINES: list[tuple[str, str | None]] = [
    ("# m h  dom mon dow   command", SETTING),
    ("SHELL=/bin/bash", SETTING),
    ('PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"', SETTING),
    ("MAILTO=ops@example.com", SETTING),
    ("", SETTING),
    ("17 * * * * cd / && run-parts --report /etc/cron.hourly", "17 * * * *"),
    ("25 6 * * * test -x /usr/sbin/anacron || run-parts /etc/cron.daily", "25 6 * * *"),
    ("47 6 * * 7 run-parts --report /etc/cron.weekly", "47 6 * * 7"),
    ("52 6 1 * * run-parts --report /etc/cron.monthly", "52 6 1 * *"),
    ("*/5 * * * * /usr/bin/php /var/www/cron.php >/dev/null 2>&1", "*/5 * * * *"),
    ("* * * * * cd /srv/app && php artisan schedule:run >> /dev/null 2>&1", "* * * * *"),
    ("0 5 * * 1 tar -zcf /var/backups/home.tgz /home/", "0 5 * * 1"),
    ("0 2 * * * pg_dump app | gzip > /backup/app-$(date +\\%F).sql.gz", "0 2 * * *"),
    ("0 12 * * * /usr/bin/certbot renew --quiet", "0 12 * * *"),
    ("0 0,12 * * * certbot renew", "0 0,12 * * *"),
    ("15 */2 * * * rsync -a /data/ backup:/data/", "15 */2 * * *"),
    ("*/15 9-17 * * MON-FRI /opt/poll.sh", "*/15 9-17 * * MON-FRI"),
    ("30 8 * jan,jul mon echo half a year", "30 8 * jan,jul mon"),
    ("0 9 * * Mon echo monday", "0 9 * * Mon"),
    ("0 22 * * 1-5 mail -s 'It is 10pm' joe%Joe,%%Where are your kids?%", "0 22 * * 1-5"),
    ("23 0-23/2 * * * echo every other hour", "23 0-23/2 * * *"),
    ("5 4 * * sun echo run at 5 after 4 every sunday", "5 4 * * sun"),
    ("@hourly /usr/local/bin/sync", "@hourly"),
    ("@daily find /tmp -mtime +7 -delete", "@daily"),
    ("@midnight logrotate /etc/logrotate.conf", "@midnight"),
    ("@weekly apt-get update", "@weekly"),
    ("@monthly /opt/report.sh", "@monthly"),
    ("@yearly echo happy new year", "@yearly"),
    ("@annually echo again", "@annually"),
    ("@reboot /usr/bin/screen -dmS irc irssi", "@reboot isn't a time"),
    ("@every_minute echo x", "Known nicknames are"),
    ("0 0 1,15 * 5 echo the 1st, the 15th and every friday", "0 0 1,15 * 5"),
    ("0 0 * * 0,7 echo sunday twice over", "0 0 * * 0,7"),
    ("0 0 * * 5-7 echo friday through sunday", "0 0 * * 5-7"),
    ("*/7 * * * * echo uneven", "*/7 * * * *"),
    ("0 */5 * * * echo uneven hours", "0 */5 * * *"),
    ("0 22-4 * * * echo nights", 'runs backwards; write it as "22-23,0-4"'),
    ("0 0 * * FRI-MON echo long weekend", "runs backwards"),
    ("0~59 3 * * * echo some minute", "~"),
    ("~ ~ * * * echo some time", "~"),
    ("0~30/10 * * * * echo from some minute on", "~"),
    ("50~10 * * * * echo no range", '"50~10" is not a valid range'),
    ("0 0 L * * echo last of the month", "0 0 L * *"),
    ("0 0 * * 5L echo last friday", "0 0 * * 5L"),
    ("0 0 * * 1#2 echo second monday", "0 0 * * 1#2"),
    ("0 0 15W * * echo nearest weekday", "day-of-month"),
    ("0 0 9 * * MON echo seconds first", "it has six fields before the command"),
    ("0 0 12 * * ? echo quartz", "it has six fields before the command"),
    ("0 12 ? * * echo half quartz", '"?" is not supported'),
    ("60 * * * * echo", "minute: 60 is outside 0-59"),
    ("0 24 * * * echo", "hour: 24 is outside 0-23"),
    ("*/90 * * * * echo too long a step", "for long periods use an interval"),
    ("0 9 * * Monday echo", 'must be shortened to "MON"'),
    ("0 5 * *", "it has 4 fields and no command"),
    ("0 5 * * *", "it has 5 fields and no command"),
    ("0 5 * * * %only input", "its command is empty"),
    ("0 5 * * * root /usr/sbin/logrotate /etc/logrotate.conf", "use --system"),
    ("CRON_TZ=America/New_York", SETTING),
    ("30 9 * * 1-5 echo the bell rings in new york", "30 9 * * 1-5"),
    ("CRON_TZ=Mars/Olympus", "The lines below it are read in America/New_York"),
    ("TZ=Asia/Tokyo", SETTING),
    ("30 9 * * 1-5 date", "30 9 * * 1-5"),
    ("\t0   7\t* * *\t  /opt/tabs.sh   --flag  ", "0 7 * * *"),
    ("HOME = /srv/app", SETTING),
    ("0 1 * * * ./relative.sh", "0 1 * * *"),
    ("-*/15 * * * * echo unlogged, as SUSE writes it", "*/15 * * * *"),
    ("#0 3 * * * echo switched off", SETTING),
    ("every day at 9 echo hello", "Invalid cron expression"),
]
TEXT = "\n".join(line for line, _ in LINES) + "\n"


def read(text: str, **options: object) -> dict[int, Planned | Refusal]:
    found = read_crontab(text, "Europe/Berlin", is_user=lambda name: name == "root", **options)  # pyright: ignore[reportArgumentType]
    return {one.number: one for one in found}


@pytest.mark.parametrize("number", range(1, len(LINES) + 1))
def test_every_line_has_the_fate_that_was_expected(number: int) -> None:
    text, expected = LINES[number - 1]
    result = read(TEXT).get(number)
    if expected is None:
        assert result is None, text
    elif isinstance(result, Refusal):
        assert expected in result.why, (text, result.why)
    else:
        assert result is not None
        assert expected in ("~", result.trigger.expression), (text, result.trigger)


def test_there_are_sixty_of_them() -> None:
    assert len(read(TEXT)) >= 50
    assert len(LINES) >= 60


def test_line_ends_of_windows_change_nothing() -> None:
    assert read(TEXT.replace("\n", "\r\n")) == read(TEXT)


def test_settings_count_for_the_lines_below_them() -> None:
    found = {number: one for number, one in read(TEXT).items() if isinstance(one, Planned)}
    by_text = {one.command.run: one for one in found.values()}
    assert by_text["echo monday"].command.shell == "/bin/bash"
    assert by_text["echo monday"].command.environment["MAILTO"] == "ops@example.com"
    assert by_text["echo monday"].trigger.zone == "Europe/Berlin"
    assert by_text["date"].trigger.zone == "America/New_York"
    assert by_text["date"].command.environment["TZ"] == "Asia/Tokyo"
    assert by_text["./relative.sh"].command.workdir == "/srv/app"
    assert by_text["pg_dump app | gzip > /backup/app-$(date +%F).sql.gz"].command.stdin is None
    assert by_text["mail -s 'It is 10pm' joe"].command.stdin == "Joe,\n\nWhere are your kids?\n"


def test_what_is_drawn_lies_in_its_range_and_is_drawn_once() -> None:
    [line] = read("10~20 ~ * * * echo\n").values()
    assert isinstance(line, Planned)
    minute, hour = map(int, line.trigger.expression.split()[:2])
    assert 10 <= minute <= 20
    assert 0 <= hour <= 23
    assert [line] == list(read("10~20 ~ * * * echo\n").values())
    drawn = {one.trigger.expression for one in read("\n".join(f"~ 3 * * * echo {n}" for n in range(40))).values()
             if isinstance(one, Planned)}  # fmt: skip
    assert len(drawn) > 20


def test_a_system_crontab_has_a_user_in_each_line() -> None:
    text = "5 * * * * ann /opt/a.sh --x\n5 * * * *\troot\t/opt/b.sh\n@daily ann\n"
    mine, other, none = read(text, users=frozenset({"ann"})).values()
    assert isinstance(mine, Planned)
    assert mine.command.run == "/opt/a.sh --x"
    assert isinstance(other, Refusal)
    assert other.why == "it runs as root, and this is ann. Import it as root."
    assert isinstance(none, Refusal)
    assert "no command after the user" in none.why


# -- through the commands ---------------------------------------------------------------------------------------------


@pytest.fixture
def say(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Say:
    monkeypatch.setenv("CRONTY_DATABASE_URL", url)
    monkeypatch.setenv("CRONTY_COMMANDS_FILE", str(tmp_path / "commands.toml"))
    monkeypatch.setenv("COLUMNS", "100")
    runner = CliRunner()

    def invoke(*words: str, input: str = "") -> Result:
        return runner.invoke(app, list(words), input=input)

    return invoke


def jobs(say: Say) -> list[tuple[object, ...]]:
    """What matters about each, in the order of their text."""
    found = json.loads(say("export", "--as", "json").output)["jobs"]
    return sorted((str(one["trigger"]), one["kwargs"]["name"], str(one["policy"])) for one in found)


def test_a_file_is_imported_once_and_there_and_back_is_the_same(say: Say, tmp_path: Path) -> None:
    first = say("import", "crontab", "-", "--zone", "Europe/Berlin", input=TEXT)
    assert first.exit_code == 1, first.output
    made = jobs(say)
    again = json.loads(say("import", "crontab", "-", "--zone", "Europe/Berlin", "--json", input=TEXT).output)
    assert {one["result"] for one in again["lines"]} == {"already", "refused"}
    assert len(made) == sum(one["result"] == "already" for one in again["lines"])
    assert jobs(say) == made
    exported = say("export", "--as", "crontab")
    assert exported.exit_code == 0, exported.output
    back = json.loads(say("import", "crontab", "-", "--json", input=exported.stdout).output)
    assert {one["result"] for one in back["lines"]} == {"already"}
    commands = read_commands(tmp_path / "commands.toml")
    for number in range(1, len(made) + 1):
        assert say("delete", str(number)).exit_code == 0
    assert jobs(say) == []
    (tmp_path / "commands.toml").unlink()
    assert say("import", "crontab", "-", input=exported.stdout).exit_code == 0
    assert jobs(say) == made
    assert read_commands(tmp_path / "commands.toml") == commands


def test_an_import_is_answered_as_other_requests_are(say: Say, url: str) -> None:
    assert say("import", "crontab", "-", input="0 5 * * * echo a\n").exit_code == 0

    async def operations() -> list[str | None]:
        connection = await asyncpg.connect(url)
        rows = await connection.fetch("select client ->> 'operation' from cronty.audit_unsealed where job_number = 1")
        await connection.close()
        return [row[0] for row in rows]

    assert asyncio.run(operations()) == ["schedule_job"]


def test_a_line_that_stands_there_twice_runs_twice(say: Say) -> None:
    text = "0 5 * * * echo a\n" * 2
    assert "2 scheduled." in say("import", "crontab", "-", input=text).output
    assert "2 there already." in say("import", "crontab", "-", input=text).output


def test_a_dry_run_makes_nothing_and_needs_no_database(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRONTY_DATABASE_URL", "postgresql://localhost:1/nowhere")
    said = say("import", "crontab", "-", "--dry-run", "--zone", "Europe/Berlin", input="0 5 * * * echo a\n@reboot b\n")
    assert said.exit_code == 1
    assert "1 could be scheduled, 1 refused. Times without a zone are meant in Europe/Berlin." in said.output
    assert "line 2: @reboot b" in said.output
    assert not (tmp_path / "commands.toml").exists()


def test_what_no_crontab_can_say_is_named(say: Say) -> None:
    say("add", "in 2h", "x", "--prompt")
    said = say("export", "--as", "crontab")
    assert said.stdout == ""
    assert "job 1, x, isn't in it: it is a prompt, not a command." in said.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("import", "crontab", "/nowhere/crontab"), 2, "/nowhere/crontab can't be read"),
        (("import", "crontab", "-", "--zone", "Mars"), 2, "Mars"),
        (("export", "--as", "yaml"), 2, "yaml"),
    ],
)
def test_misuse_says_what_is_wrong(say: Say, words: tuple[str, ...], code: int, said: str) -> None:
    result = say(*words)
    assert (result.exit_code, said in " ".join(result.output.replace("│", " ").split())) == (code, True), result.output


def test_without_a_place_for_commands_nothing_is_imported(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRONTY_COMMANDS_FILE")
    said = say("import", "crontab", "-", input="0 5 * * * echo a\n")
    assert said.exit_code == 1
    assert "Set CRONTY_COMMANDS_FILE" in said.output


# -- for real ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "commands.toml"
    monkeypatch.setenv("CRONTY_COMMANDS_FILE", str(path))
    return path


async def test_a_command_runs_as_cron_would_run_it(url: str, commands: Path, tmp_path: Path) -> None:
    line = r"0 5 * * * cat; echo $GREETING \%; pwd; echo $PATH%first%second"
    [read_line] = read(f"GREETING=hello\nHOME={tmp_path}\n{line}\n").values()
    assert isinstance(read_line, Planned)
    bad = Declared("echo no luck >&2; exit 3")
    declare(commands, [read_line.command, bad])
    async with Cronty(url) as cronty:
        results: list[object] = []
        for command in (read_line.command, bad):
            job = await cronty.schedule_job("x", "command", "once", {"run_at": "2098-01-31"}, [command.name])
            run = await cronty.run_job_now(job.job_id)
            results.append(await _settled(cronty, run.run_id))
    assert results == [
        ("done", f"first\nsecond\nhello %\n{tmp_path}\n/usr/bin:/bin\n"),
        ("failed", "'echo no luck >&2; exit 3': status 3; it said: 'no luck'."),
    ]


async def _settled(cronty: Cronty, run_id: str) -> object:
    async with asyncio.timeout(PATIENCE):
        while True:
            shown = await cronty.service.runs.show(local_caller(cronty.owner), run_id)
            assert not isinstance(shown, Err)
            run = shown.value.run
            if run.state not in ("waiting", "running"):
                return run.state, run.error or json.loads(run.result or "null")
            await asyncio.sleep(0.02)


async def test_only_whoever_sits_at_the_machine_schedules_a_command(url: str, commands: Path) -> None:
    declare(commands, [Declared("true")])
    request = ScheduleJob("x", "command", "interval", {"hours": 1}, args=(Declared("true").name,))
    async with Cronty(url, run_jobs=False) as cronty:
        scheduler, far = cronty.service.scheduler, local_caller("local", "mcp")
        made = await scheduler.schedule(cronty.caller, request)
        assert not isinstance(made, Err)
        refused = await scheduler.schedule(far, request)
        changed = await scheduler.edit(far, EditJob(str(made.value.number), task="command", args=("other",)))
    for answer in (refused, changed):
        assert isinstance(answer, Err)
        assert answer.code == "not_allowed"


def test_a_file_that_others_could_have_written_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "commands.toml"
    declare(path, [Declared('echo "a\\b\x7f\t"', stdin="x\ny", environment={"A B": "c=d"})])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    [known] = read_commands(path).values()
    assert known == Declared('echo "a\\b\x7f\t"', stdin="x\ny", environment={"A B": "c=d"})
    os.chmod(path, 0o620)
    with pytest.raises(BadCommands, match="may be written by others"):
        read_commands(path)
