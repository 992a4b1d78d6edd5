"""One number per job, three ways to write it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronty.jobs.ids import job_id_text, read_job_id, schedule_id_text

CREATED = datetime(2026, 2, 5, 14, 0, tzinfo=UTC)
MOST = 2**63 - 1

numbers = st.integers(1, MOST)


def test_a_job_id_is_written_as_the_seed_writes_it() -> None:
    assert job_id_text(1, datetime.fromtimestamp(1738764000, UTC)) == "job_1_1738764000"


@pytest.mark.parametrize(
    "form", ["job_42_1738764000", "scd_1a", "42", "#42", 42, " 42 ", "\tjob_42_1738764000\n", "0042"]
)
def test_any_form_of_an_id_is_read(form: str | int) -> None:
    assert read_job_id(form) == 42


@pytest.mark.parametrize(
    "odd",
    [
        *("", " ", "#", "-1", "1.0", "1e3", "0x2a", "٤٢", "forty-two", "invalid-id-123", "42; drop table jobs"),
        *("job_", "job_42", "job_42_", "job__1738764000", "job_x_1", "job_-1_1", "job_1_2_3", "job_1_1\0"),
        *("scd_", "scd_nonexistent_test_id", "scd_l", "scd_1 a", "SCD_1A!", "scd_zzzzzzzzzzzzz", "scd_" + "1" * 500),
        *("0", "#0", "job_0_1", "scd_0", 0, -1, MOST + 1, str(MOST + 1), "9" * 19, "9" * 5000),
    ],
)
def test_an_odd_id_is_simply_one_that_does_not_exist(odd: str | int) -> None:
    assert read_job_id(odd) is None


@given(numbers, st.integers(1, 10**11))
def test_every_form_leads_back_to_the_number(number: int, created: int) -> None:
    for form in (
        job_id_text(number, datetime.fromtimestamp(created, UTC)),
        schedule_id_text(number),
        str(number),
        f"#{number}",
        number,
    ):
        assert read_job_id(form) == number


@given(st.sets(numbers, min_size=2, max_size=2))
def test_two_jobs_never_share_an_id(pair: set[int]) -> None:
    assert len({schedule_id_text(number) for number in pair}) == 2
    assert len({job_id_text(number, CREATED) for number in pair}) == 2


@given(st.text() | st.from_regex(r"(job|scd)_[0-9a-z_]*") | st.integers())
def test_whatever_is_read_is_a_number_the_database_can_hold(text: str | int) -> None:
    number = read_job_id(text)
    assert number is None or 0 < number <= MOST
