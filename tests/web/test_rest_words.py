"""Words over REST: choices in problem details, for programs and for our own client; times in words."""

import pytest

from cronty.client.calls import error_of
from tests.web.conftest import Api

UNCLEAR = {
    "name": "n", "task": "run_backup", "trigger_type": "words", "trigger_config": {"text": "every day at 5"},
    "timezone": "Europe/Berlin",
}  # fmt: skip


async def test_an_unclear_schedule_is_a_problem_with_choices(ann: Api) -> None:
    refused = await ann.post("/jobs", json=UNCLEAR)
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (422, "ambiguous")
    assert {choice["words"] for choice in problem["choices"]} == {
        "At 05:00 every day, Berlin time",
        "At 17:00 every day, Berlin time",
    }
    for choice in problem["choices"]:
        made = await ann.post("/jobs", json=UNCLEAR | {"trigger_config": {"text": choice["words"]}})
        assert made.json()["next_run"] == choice["next_at"]
        shown = await ann.get(f"/jobs/{made.json()['job_id']}")
        assert shown.json()["said"] == choice["words"]


async def test_our_client_has_the_choices_in_its_error(ann: Api) -> None:
    refused = await ann.post("/jobs", json=UNCLEAR)
    error = error_of(refused)
    assert [choice.to_json() for choice in error.choices] == refused.json()["choices"]


@pytest.mark.parametrize("when", ["tomorrow", "next week", "in 2 hours", "5 March at 9:00"])
async def test_a_list_takes_words(ann: Api, when: str) -> None:
    await ann.make()
    found = await ann.get("/jobs", params={"from": when})
    assert found.status_code == 200, found.text


async def test_an_unclear_day_of_a_list_has_choices(ann: Api) -> None:
    refused = await ann.get("/jobs", params={"to": "03/04/2028"})
    assert (refused.status_code, refused.json()["code"]) == (422, "ambiguous")
    assert [choice["words"] for choice in refused.json()["choices"]] == ["2028-04-03", "2028-03-04"]
