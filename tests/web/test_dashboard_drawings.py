"""What is drawn and how it is said: the places of marks, days of a year, times at a glance."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from cronty.jobs.overview import MAX_COUNTED, Bin, Day, Lag, LatestRun, Slot, Timeline, Verdict
from cronty.jobs.run import Run
from cronty.web.dashboard.formats import ago, brief, counted, day_text, plain_error, span
from cronty.web.dashboard.health import draw_health
from cronty.web.dashboard.heatmap import draw_days, draw_year
from cronty.web.dashboard.job import why
from cronty.web.dashboard.qr import draw_qr, squares
from cronty.web.dashboard.sparkline import HEIGHT, draw_columns, draw_lag
from cronty.web.dashboard.timeline import MAX_STACKED, draw_timeline

NOW = datetime(2027, 3, 28, 0, 30, tzinfo=UTC)
DAY = timedelta(days=1)
WIDTH = timedelta(minutes=30)
CODE = """
#######.##....#######
#.....#.##.#..#.....#
#.###.#...#.#.#.###.#
#.###.#..##.#.#.###.#
#.###.#.##....#.###.#
#.....#.##.#..#.....#
#######.#.#.#.#######
........#..#.........
###..##.####.####..##
.#.#.#..#####.###.###
##..#####.#.#.#.#.#.#
.#.###..#..#.#.#.#.#.
#######.####...#...#.
........#..##.###.###
#######.....#.#.#.#.#
#.....#.#..#.#.#.#.#.
#.###.#...##...#...##
#.###.#..#.##.###.##.
#.###.#.##..#.#.#.###
#.....#.####.#.#.#...
#######.#..#...#....#
"""


def timeline(slots: list[Slot] | None, *counts: dict[Verdict, int]) -> Timeline:
    since = NOW - DAY
    bins = [Bin(since + number * WIDTH, counts[number] if number < len(counts) else {}) for number in range(96)]
    return Timeline(since, NOW, NOW + DAY, WIDTH, bins, slots, NOW + DAY)


def slot(minutes: float, verdict: Verdict = "done", name: str = "Tea") -> Slot:
    return Slot(7, name, NOW + timedelta(minutes=minutes), verdict)


def test_what_has_passed_stands_left_of_now_and_what_comes_right_of_it() -> None:
    drawn = draw_timeline(timeline([slot(-40), slot(-35, "failed"), slot(95, "planned")]), "UTC")
    assert drawn.now == "50.00"
    done, failed, planned = drawn.marks
    assert (done.x, done.verdict, failed.x, failed.verdict) == ("48.44", "done", "48.44", "failed")
    assert done.y > failed.y, "one upon the other"
    assert float(planned.x) > 50
    assert done.href.startswith("/runs/run_7_")
    assert planned.href == "/jobs/7"


def test_of_a_column_that_is_too_high_what_went_wrong_is_never_left_out() -> None:
    drawn = draw_timeline(timeline([slot(-40 + number / 100) for number in range(30)] + [slot(-40, "failed")]), "UTC")
    assert len(drawn.marks) == MAX_STACKED
    assert [mark.verdict for mark in drawn.marks].count("failed") == 1
    assert [number for _, number, _ in drawn.over] == [31 - MAX_STACKED]


def test_the_number_of_marks_left_out_stands_beside_the_line_of_now() -> None:
    crowd = [slot(minutes + number / 100, name="Tea") for minutes in (-600, -20, 10) for number in range(13)]
    drawn = draw_timeline(timeline(crowd), "UTC")
    assert [(number, side) for _, number, side in drawn.over] == [(2, "middle"), (2, "end"), (2, "start")]


def test_too_many_slots_become_bars_that_stay_inside() -> None:
    drawn = draw_timeline(timeline(None, {"done": 900, "failed": 100}, {"done": 1}), "UTC")
    assert drawn.marks == []
    assert [bar.verdict for bar in drawn.bars] == ["failed", "done", "done"], "failures at the foot"
    assert [(hit.flag is not None, hit.href) for hit in drawn.hits] == [
        (True, "/week?from=2027-03-25#d2027-03-27"), (False, "/week?from=2027-03-25#d2027-03-27"),
    ]  # fmt: skip
    assert all(float(bar.y) >= 0 and float(bar.y) + float(bar.height) <= drawn.plot + 0.2 for bar in drawn.bars)
    assert drawn.bars[0].title == "00:30: 900 done, 100 failed"
    assert drawn.counts == {"done": 901, "failed": 100}


def test_jobs_that_come_often_are_a_strip_below_the_others() -> None:
    line = timeline([Slot(1, "Call mum", NOW + DAY / 2, "planned")])
    assert draw_timeline(line, "UTC").ribs == []
    often = [Bin(one.start, {"done": 6} if one.start < NOW else {"planned": 6}) for one in line.bins]
    often[3] = Bin(often[3].start, {"done": 5, "failed": 1})
    drawn = draw_timeline(replace(line, often=often, often_jobs=2), "UTC")
    assert len(drawn.ribs) == 96
    assert (drawn.ribs[0].kind, drawn.ribs[-1].kind) == ("d3", "p2")
    assert [rib.failed > 0 for rib in drawn.ribs[:5]] == [False, False, False, True, False]
    assert [mark.title for mark in drawn.marks] == ["Call mum, 12:30: planned"]


def test_a_young_job_has_weeks_and_an_old_one_a_year() -> None:
    today = date(2027, 3, 28)
    days = [Day(today - (370 - number) * DAY, {}) for number in range(371)]
    young = draw_days(days, today - 9 * DAY)
    assert young.weeks
    assert [label for _, label in young.rows] == ["15 Mar", "22 Mar"]
    assert len(young.cells) == 14
    assert young.today == young.cells[-1]
    wednesday = draw_days(days[:-4], today - 9 * DAY)
    assert [cell.kind for cell in wednesday.cells] == ["empty"] * 10 + ["future"] * 4
    assert wednesday.today == wednesday.cells[9]
    ran = [replace(day, verdicts={"done": 1}) if day.date == today - 200 * DAY else day for day in days]
    assert not draw_days(ran, today - 9 * DAY).weeks, "it has runs from before it was changed"
    assert not draw_days(days, today - 300 * DAY).weeks


def test_health_shows_the_last_ten_verdicts_oldest_first() -> None:
    verdicts: list[Verdict] = ["failed", "waiting", "missed", "skipped", "done"]
    drawn = draw_health([LatestRun(NOW, verdict, None) for verdict in verdicts])
    assert [bar.kind for bar in drawn.bars] == [*["none"] * 5, "done", "low", "missed", "edge", "waiting", "failed"]
    assert drawn.title == "Last runs: 1 done, 1 waiting, 1 failed, 1 missed, 1 skipped"
    assert (drawn.done, drawn.of) == (1, 5)
    assert draw_health([]).title == "Last runs: no runs yet"


def test_a_qr_code_is_the_one_everybody_draws() -> None:
    """The same squares as another encoder's, for a text that fills its version."""
    assert ["".join("#" if dark else "." for dark in row) for row in squares("y" * 17)] == CODE.split()
    assert len(squares("x" * 17)) == 21
    assert len(squares("x" * 134)) == 41
    with pytest.raises(ValueError, match="too many"):
        squares("x" * 135)
    assert draw_qr("cronty").size == 25


def test_the_hours_are_right_on_a_day_when_clocks_change() -> None:
    labels = [tick.label for tick in draw_timeline(timeline([]), "Europe/Berlin").ticks if tick.label]
    assert labels == [
        "03:00", "06:00", "09:00", "12:00", "15:00", "18:00", "21:00", "06:00", "09:00", "12:00", "15:00", "18:00",
        "21:00", "Tomorrow",
    ]  # fmt: skip


def test_the_worst_of_a_day_decides_how_it_looks() -> None:
    first = date(2027, 1, 4)
    kinds: list[dict[Verdict, int]] = [
        {}, {"done": 1}, {"done": 4}, {"done": 9, "failed": 1}, {"failed": 2, "done": 1}, {"missed": 1, "done": 1},
        {"skipped": 3},
    ]  # fmt: skip
    drawn = draw_year([Day(first + number * DAY, kind) for number, kind in enumerate(kinds)])
    assert [cell.kind for cell in drawn.cells] == ["good1", "good2", "some", "bad", "missed", "none"]
    assert [cell.mark for cell in drawn.cells if cell.mark] == ["M33.5 57.5l3 3-3 3-3-3z"], "in the middle of its day"
    assert drawn.empty.count("M") == 1
    assert drawn.cells[0].title == "Tue 5 Jan: 1 done"
    assert draw_year([]).cells == []


def test_a_lag_is_drawn_with_its_gaps() -> None:
    drawn = draw_lag([Lag(NOW, 0.01, 0.2), Lag(NOW, None, None), Lag(NOW, 0.03, 40.0)])
    assert (drawn.usual, drawn.slow, drawn.worst) == (0.02, 20.1, 40.0)
    assert drawn.p50.count("M") == 2
    assert draw_lag([]).usual is None


def test_columns_stay_inside() -> None:
    [column] = draw_columns([Bin(NOW, {"done": 5, "failed": 5}), Bin(NOW, {})])
    assert sum(float(height) for _, _, height in column.parts) <= HEIGHT
    assert column.title == "00:30 UTC: 5 done, 5 failed"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0004, "0 ms"), (0.12, "120 ms"), (1, "1 s"), (59, "59 s"), (61, "1 min 1 s"), (3600, "1 h"),
     (12000, "3 h 20 min"), (86400 * 3, "3 d"), (86400 * 400, "1 y 35 d"), (-5, "−5 s")],
)  # fmt: skip
def test_a_span_is_said_in_two_parts_at_the_most(seconds: float, said: str) -> None:
    assert span(seconds) == said


def test_moments_are_said_as_people_say_them() -> None:
    assert [ago(NOW + timedelta(seconds=one), NOW) for one in (0, 300, -7300)] == ["now", "in 5 min", "2 h ago"]
    assert [day_text(NOW + one * DAY, "UTC", NOW) for one in (-1, 0, 1, 2)] == [
        "Yesterday",
        "Today",
        "Tomorrow",
        "Tue 30 Mar",
    ]
    assert day_text(NOW + 300 * DAY, "UTC", NOW) == "Sat 22 Jan 2028"


def test_a_text_takes_up_no_more_room_than_it_is_given() -> None:
    assert brief("Tea", 20) == "Tea"
    assert brief('"' * 50, 33) == '"' * 5 + "…"
    assert brief("ä" * 50, 23) == "ä" * 10 + "…"


def test_a_reason_is_shown_as_it_was_given() -> None:
    times = {"through": None, "started_at": None, "finished_at": None}
    run = Run(1, NOW, "cancelled", 2, 1, manual=False, reason="no timeslots left", error=None, result=None, **times)
    assert why(run) == "no timeslots left, tried 2 times"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("TimeoutError: no answer within 30 s", "no answer within 30 s"),
        ("OSError: [Errno 28] No space left on device", "No space left on device"),
        ("shop.errors.PermanentError: https://a.example answered 502", "https://a.example answered 502"),
        ('Traceback (most recent call last):\n  File "a.py", line 1\nValueError: not a date', "not a date"),
        ("CallFailed: Calling 'a.example' failed", "Calling 'a.example' failed"),
        ("KeyError: 'name'", "Key error: 'name'"),
        ("ConnectionResetError", "Connection reset error"),
        ("the agent gave no answer", "the agent gave no answer"),
        ("Error 5: the printer is on fire", "Error 5: the printer is on fire"),
        ("", ""),
    ],
)
def test_an_error_is_said_without_the_names_of_programs(error: str, said: str) -> None:
    assert plain_error(error) == said


def test_a_count_that_stopped_says_so() -> None:
    assert (counted(9_999), counted(MAX_COUNTED)) == ("9\u202f999", "10\u202f000+")
