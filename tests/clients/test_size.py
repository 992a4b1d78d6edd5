"""The bench at size, in small: what it fills is what the product would have written, and what it draws can be read."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import fill, grow, idle, pages, report
from bench.recipe import BASE, HUGE, QUIET, SMALL, SMALL_JOBS, START, Recipe
from cronty.engine.retiming import Retiming
from cronty.store.database import Database
from cronty.store.zone_store import ZoneStore
from cronty.timing import Broken, from_stored

JOBS = 1000


@dataclass(frozen=True, slots=True)
class Cluster:
    folder: Path
    server: str
    postmaster: int

    @property
    def url(self) -> str:
        return fill.at(self.server, fill.name_of(JOBS))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A kept cluster with a thousand jobs; not among pytest's own folders, which PostgreSQL's user can't enter."""
    with tempfile.TemporaryDirectory(prefix="cronty-bench-") as kept:
        folder = Path(kept)
        assert [one["jobs"] for one in fill.keep(folder, [JOBS])] == [JOBS]
        with fill.running(folder, {"shared_buffers": "32MB"}) as postgres:
            yield Cluster(folder, postgres.url, postgres.postmaster)


@pytest.mark.parametrize("jobs", [1000, 1234, 30_000])
def test_every_owners_numbers_count_from_one(jobs: int) -> None:
    recipe = Recipe(jobs)
    had: Counter[int] = Counter()
    for job in range(jobs):
        place = recipe.place(job)
        had[place.owner] += 1
        assert place.number == had[place.owner]
    assert had[0] == SMALL_JOBS
    assert had[1] >= jobs // 11
    assert len(had) == len(recipe.owner_names())


def test_the_small_owner_has_the_same_at_every_size() -> None:
    def theirs(jobs: int) -> list[object]:
        recipe = Recipe(jobs)
        places = [(recipe.small_job(number), recipe.place(recipe.small_job(number))) for number in range(1, 11)]
        return [(place, rule := recipe.rule(job, place), recipe.history(job, place, rule)) for job, place in places]

    assert theirs(1000) == theirs(10_000_000)


async def test_what_is_filled_is_what_the_product_would_have_written(cluster: Cluster) -> None:
    async with fill.connected(cluster.url) as sql:
        rows = await sql.fetch(
            "select d.next_at, j.trigger::text, j.slots_after, j.state, j.created_at, d.last_run, d.run_count,"
            " (select count(*) from cronty.runs r where r.job_id = j.id) as runs,"
            " (select max(r.scheduled_for) from cronty.runs r where r.job_id = j.id) as latest"
            " from cronty.jobs j join cronty.due d on d.job_id = j.id"
        )
        unaccounted = await sql.fetch("select * from cronty.slots_unaccounted")
        owners = await sql.fetch(
            "select o.name, o.live_jobs, o.next_number, count(*) as jobs from cronty.owners o"
            " join cronty.jobs j on j.owner_id = o.id group by o.id"
        )
        outside = await sql.fetchval("select count(*) from cronty.runs where not scheduled_for between $1 and $2",
                                     START, BASE)  # fmt: skip
    assert len(rows) == JOBS
    for row in rows:
        trigger = from_stored(json.loads(row["trigger"]))
        assert not isinstance(trigger, Broken)
        if row["next_at"] is not None:
            assert trigger.after(row["slots_after"]) == row["next_at"], trigger
            assert BASE + QUIET <= row["next_at"] < BASE + timedelta(days=1)
        assert (row["runs"], row["latest"]) == (row["run_count"], row["last_run"])
    assert unaccounted == []
    assert outside == 0
    assert all(row["jobs"] == row["live_jobs"] == row["next_number"] - 1 for row in owners)
    assert {SMALL: 10, HUGE: 100}.items() <= {row["name"]: row["jobs"] for row in owners}.items()


async def test_nothing_that_is_filled_has_to_be_retimed(cluster: Cluster) -> None:
    database = await Database(cluster.url, hot=True, clock=lambda: BASE).open()
    assert await Retiming(ZoneStore(database)).look() == {}
    await database.close()


async def test_the_indexes_are_those_of_the_migrations(cluster: Cluster) -> None:
    listed = "select regexp_replace(indexdef, ' runs_\\d+', '') from pg_indexes where schemaname = 'cronty'" \
        " and tablename in ('jobs', 'due', 'runs') order by 1"  # fmt: skip
    async with fill.connected(cluster.server) as admin:
        await admin.execute("create database plain")
    await fill.migrate(fill.at(cluster.server, "plain"))
    async with fill.connected(fill.at(cluster.server, "plain")) as plain, fill.connected(cluster.url) as sql:
        assert await sql.fetch(listed) == await plain.fetch(listed)


async def test_a_database_that_is_kept_is_not_filled_again(cluster: Cluster) -> None:
    assert await fill.wanting(cluster.server, [JOBS, 2 * JOBS]) == [2 * JOBS]


def test_a_second_bench_says_that_the_first_is_at_work(cluster: Cluster) -> None:
    with pytest.raises(SystemExit, match=f"kill -INT {cluster.postmaster}"):
        fill.keep(cluster.folder, [JOBS])


async def test_an_idle_worker_fires_nothing_and_is_counted(cluster: Cluster) -> None:
    url = await fill.copy(cluster.server, JOBS)
    found = await idle.minute(url, cluster.postmaster, seconds=0.2, settle=0)
    assert 0 < found["statements"] <= found["round_trips"]


async def test_every_page_is_measured_for_the_small_owner_and_the_huge_one(cluster: Cluster) -> None:
    url = await fill.copy(cluster.server, JOBS)
    found = [one async for one in pages.main(url, cluster.postmaster, rounds=1)]
    assert len(found) == 2 * (len(pages.PATHS) + 2)
    assert [one for one in found if "error" in one] == []
    assert all(one["round_trips"] and one["pages"] for one in found if one["path"] in ("/", "/jobs", "create", "edit"))


@pytest.mark.long
async def test_grow_goes_on_after_what_fails_and_measures_only_that_again(cluster: Cluster, tmp_path: Path) -> None:
    into = tmp_path / "grow.jsonl"
    short = grow.Asked(seconds=120, rounds=1, idle_seconds=0.1)  # it ends when nothing is due any more
    await grow.main(cluster.server, cluster.postmaster, [JOBS, 2 * JOBS], short, into)
    results = grow.read(into)
    assert {part for jobs, part in results if jobs == JOBS} == set(grow.PARTS)
    assert [key for key, one in results.items() if "error" in one] == [(2 * JOBS, part) for part in grow.PARTS]
    assert results[JOBS, "fires"]["fires"] > JOBS / 2
    lines = len(into.read_text(encoding="utf-8").splitlines())
    await grow.main(cluster.server, cluster.postmaster, [JOBS, 2 * JOBS], short, into)
    assert len(into.read_text(encoding="utf-8").splitlines()) == lines + len(grow.PARTS)


RESULTS: report.Results = {
    (10_000, "idle"): {"statements": 47, "pages": 300},
    (10_000, "pages"): {name: {"ms": 3.0 + place, "pages": 40 + place} for place, name in enumerate(report.LOOKS)},
    (10_000, "fires"): {"per_s": 15_000, "bare_per_s": 21_000, "ratio": 0.71},
    (100_000, "idle"): {"statements": 47, "pages": 301},
    (100_000, "pages"): {name: {"ms": 3.1, "pages": 41} for name in report.LOOKS} | {"now": {"error": "status 503"}},
    (100_000, "fires"): {"error": "TimeoutError: "},
}


def test_the_table_has_a_dash_and_a_reason_where_nothing_could_be_measured() -> None:
    said = report.table(RESULTS)
    head, _, first, second, *_ = said.splitlines()
    assert first.startswith("| 10,000 | 15,000 | 21,000 (0.71) | 47 statements, 300 | 3 ms, 40 |")
    assert second.startswith("| 100,000 | – | – | 47 statements, 301 | – | 3.1 ms, 41 |")
    assert len({line.count("|") for line in (head, first, second)}) == 1
    assert "- 100,000 jobs, fires: TimeoutError" in said
    assert "- 100,000 jobs, now: status 503" in said


def test_the_picture_is_well_formed_and_names_every_line() -> None:
    drawn = report.draw(RESULTS)
    root = ElementTree.fromstring(drawn)
    texts = [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Fires per second", "An idle minute", "10k", "100k"} <= set(texts)
    for name in ("Cronty", "bare", "statements", *report.LOOKS):
        assert any(text.startswith(f"{name} ") for text in texts), name
    assert "prefers-color-scheme: dark" in drawn
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")
