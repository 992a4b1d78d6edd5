"""Words at the door: they are kept with the job, may say any time, and have choices if they are unclear."""

from datetime import UTC, datetime, timedelta

import pytest
from asyncpg import Connection

from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob, ScheduleJob
from cronty.contract.result import Err, Ok
from cronty.jobs.job import Job
from cronty.scheduler import Scheduler
from cronty.timing import Calendar, Cron, Interval
from tests.conftest import START, add, look
from tests.turns import turns_of_others

pytestmark = pytest.mark.usefixtures("hands")

BERLIN = "Europe/Berlin"


async def refusal(door: Scheduler, text: str, **rest: object) -> Err:
    request = ScheduleJob("n", "note", "words", {"text": text}, timezone=BERLIN, **rest)  # pyright: ignore
    result = await door.schedule(local_caller("ann"), request)
    assert isinstance(result, Err), result
    return result


async def edited(door: Scheduler, job: Job, **changes: object) -> Job:
    result = await door.edit(local_caller("ann"), EditJob(str(job.number), **changes))  # pyright: ignore
    assert isinstance(result, Ok), result
    return result.value


# -- what was said is kept -----------------------------------------------------------------------------------------


async def test_the_words_of_a_schedule_are_kept_with_the_job(door: Scheduler) -> None:
    job = await add(door, "words", {"text": "  weekdays  at 8:30am "}, timezone=BERLIN)
    assert job.said == "weekdays at 8:30am"
    assert (await look(door, job)).said == "weekdays at 8:30am"
    listed = await door.list_jobs(local_caller("ann"))
    assert isinstance(listed, Ok)
    assert [each.said for each in listed.value.jobs] == ["weekdays at 8:30am"]


async def test_a_moment_in_words_is_kept_too_and_a_schedule_in_fields_is_not(door: Scheduler) -> None:
    assert (await add(door, "once", {"run_at": "tomorrow at 9:00"})).said == "tomorrow at 9:00"
    assert (await add(door, "once", {"run_at": "2031-01-31T09:00:00Z"})).said is None
    assert (await add(door, "cron", {"expression": "0 9 * * *"})).said is None


async def test_an_edit_replaces_the_words_or_clears_them_with_the_schedule_they_said(door: Scheduler) -> None:
    job = await add(door, "words", {"text": "weekdays at 9"}, timezone=BERLIN)
    assert (await edited(door, job, name="other", tags=["x"])).said == "weekdays at 9"
    job = await edited(door, job, trigger_type="words", trigger_config={"text": "Mondays at 9, 3 times"})
    assert (job.said, job.max_runs) == ("Mondays at 9, 3 times", 3)
    assert (await edited(door, job, max_runs=5)).said is None, "it is no longer 3 times"
    job = await edited(door, job, trigger_type="words", trigger_config={"text": "Mondays at 9"})
    assert (await edited(door, job, timezone="Asia/Tokyo")).said is None
    job = await edited(door, job, trigger_type="words", trigger_config={"text": "Mondays at 9"})
    assert (await edited(door, job, trigger_type="interval", trigger_config={"hours": 1})).said is None


async def test_long_words_are_kept_whole(door: Scheduler, sql: Connection) -> None:
    days = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
    text = "; and ".join(f"at {9 + at:02}:1{at} on {day} in March through June" for at, day in enumerate(days))
    assert 300 < len(text) <= 500
    job = await add(door, "words", {"text": text}, timezone=BERLIN)
    assert isinstance(job.trigger, Calendar)
    assert job.said == text
    assert await sql.fetchval("select said from cronty.jobs where id = $1", job.id) == text
    assert "At most 500" in (await refusal(door, "every day at 9 " + "please " * 80)).hint


# -- choices -------------------------------------------------------------------------------------------------------


async def test_what_may_mean_several_things_is_refused_with_choices_that_are_accepted(door: Scheduler) -> None:
    err = await refusal(door, "every day at 5")
    assert err.code == "ambiguous"
    assert [choice.words for choice in err.choices] == [
        "At 17:00 every day, Berlin time",
        "At 05:00 every day, Berlin time",
    ]
    for choice in err.choices:
        job = await add(door, "words", {"text": choice.words})
        assert job.next_slot == choice.next_at
        assert choice.next_at is not None
        assert f"{choice.next_at.tzinfo}" == BERLIN
    wrong = await door.preview(local_caller("ann"), "words", {"text": "every day at 5"}, BERLIN, 1)
    assert isinstance(wrong, Err)
    assert wrong.choices == err.choices


async def test_an_unclear_end_has_its_choices_too(door: Scheduler) -> None:
    err = await refusal(door, "every day at 9", ends_at="03/04/2028")
    assert (err.code, [choice.words for choice in err.choices]) == ("ambiguous", ["2028-04-03", "2028-03-04"])


# -- words where a time is taken -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "ends"),
    [
        ("31 December", datetime(2027, 12, 31, 23, tzinfo=UTC)),
        ("2027-12-31", datetime(2027, 12, 31, 23, tzinfo=UTC)),
        ("end of June", datetime(2027, 6, 30, 22, tzinfo=UTC)),
        ("next week", datetime(2027, 3, 14, 23, tzinfo=UTC)),
        ("31 December at 12:00", datetime(2027, 12, 31, 11, tzinfo=UTC)),
        ("in 3 hours", START + timedelta(hours=3)),
    ],
)
async def test_an_end_may_be_said_in_words_and_a_day_is_all_of_it(door: Scheduler, given: str, ends: datetime) -> None:
    job = await add(door, "interval", {"hours": 1}, timezone=BERLIN, ends_at=given)
    assert job.ends_at is not None
    assert ends - timedelta(seconds=1) < job.ends_at <= ends
    job = await edited(door, await add(door, "interval", {"hours": 1}, timezone=BERLIN), ends_at=given)
    assert job.ends_at is not None
    assert ends - timedelta(seconds=1) < job.ends_at <= ends


async def test_a_start_may_be_said_in_words_and_a_day_is_its_beginning(door: Scheduler) -> None:
    job = await add(door, "interval", {"hours": 1}, timezone=BERLIN, starts_at="tomorrow")
    assert job.next_slot == datetime(2027, 3, 1, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("every", "words"),
    [
        ("every 1 day", "every 1 day at 09:30"),
        ("every week", "every week on Friday at 09:30"),
        ("every month", "every month on the 5th at 09:30"),
        ("every year", "every year on 5 March at 09:30"),
    ],
)
async def test_a_rhythm_without_a_time_has_that_of_its_start(door: Scheduler, every: str, words: str) -> None:
    start = "2027-03-05T09:30:00"
    job = await add(door, "words", {"text": every}, timezone=BERLIN, starts_at=start)
    assert isinstance(job.trigger, Cron)
    assert job.next_slot == datetime(2027, 3, 5, 8, 30, tzinfo=UTC)
    assert job.said == words
    elapsed = await add(door, "words", {"text": "every 2 hours"}, timezone=BERLIN, starts_at=start)
    assert isinstance(elapsed.trigger, Interval)


async def test_without_a_start_a_rhythm_still_needs_its_time(door: Scheduler) -> None:
    assert "doesn't say at what time" in (await refusal(door, "every 1 day")).message


# -- how often -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "times", "words"), [("3 times", 3, "3 times"), ("1 time", 1, "1 time")])
async def test_a_preview_ends_with_the_last_run_and_says_how_many_there_are(
    door: Scheduler, said: str, times: int, words: str
) -> None:
    shown = await door.preview(local_caller("ann"), "words", {"text": f"every day at 9:00, {said}"}, BERLIN)
    assert isinstance(shown, Ok)
    assert len(shown.value.slots) == times
    assert shown.value.words == f"At 09:00 every day, {words}, Berlin time"


async def test_the_words_for_a_country_are_kept_as_they_were_said(door: Scheduler) -> None:
    text = "every weekday at 9:00 except holidays in Germany"
    job = await add(door, "words", {"text": text}, timezone=BERLIN)
    assert job.said == text
    changed = await edited(
        door, job, trigger_type="words", trigger_config={"text": "every day at 9:00 except holidays in France"}
    )
    assert changed.said == "every day at 9:00 except holidays in France"


async def test_others_have_their_turn_between_any_two_slots_of_a_preview(
    door: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_turn: list[int] = []
    after = Calendar.after

    async with turns_of_others() as turns:

        def noting(self: Calendar, moment: datetime) -> datetime | None:
            at_turn.append(turns.count)
            return after(self, moment)

        await door.clock(local_caller("ann"))
        monkeypatch.setattr(Calendar, "after", noting)
        words = {"text": "every 520 weeks on monday at 9:00"}
        shown = await door.preview(local_caller("ann"), "words", words, BERLIN, 100)
    assert isinstance(shown, Ok)
    assert len(shown.value.slots) == 100
    assert len(set(at_turn)) >= 100, "the way to each leads through ten years"
