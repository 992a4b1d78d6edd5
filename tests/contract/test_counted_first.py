"""What is too much is counted before any of it is checked: each wrong value would cost time, also one not shown."""

import pytest

from cronty.contract.operation import MOST_MEMBERS
from cronty.contract.operations import Operations
from cronty.contract.result import Err
from cronty.mcp.arguments import BadArguments, fit
from cronty.mcp.table import tool_of


def test_a_list_of_too_many_members_is_refused_for_its_length() -> None:
    for operation, field in ((Operations.acknowledge_inbox, "receipts"), (Operations.redrive_runs, "run_ids")):
        refused = operation.read({field: [1] * (MOST_MEMBERS + 1)})
        told = f"{field} has {MOST_MEMBERS + 1} members.", f"Give at most {MOST_MEMBERS}.", field
        assert refused == Err("bad_request", *told)
        kept = operation.read({field: [1] * MOST_MEMBERS})
        assert isinstance(kept, Err)
        assert kept.message == f"{field}.0: Input should be a valid string, not 1."


def test_every_list_whose_members_have_a_type_is_counted() -> None:
    tagged: dict[str, object] = {"name": "x", "task": "y", "trigger_type": "cron", "tags": ["x"] * 9000}
    pushed: dict[str, object] = {"message": "x", "topic": "y", "actions": [1] * 9000}
    for operation, given in ((Operations.schedule_job, tagged), (Operations.send_push_notification, pushed)):
        refused = operation.read(given)
        assert isinstance(refused, Err)
        assert "has 9000 members" in refused.message


def test_too_many_fields_are_refused_for_the_first_that_is_not_known() -> None:
    refused = Operations.job_status.read({"job_id": 1, **{f"f{number}": 1 for number in range(100_000)}})
    assert refused == Err("bad_request", "There is no field f0.", "Known fields: job_id.", "f0")


def test_a_tool_counts_a_list_before_it_converts_its_members() -> None:
    schema = tool_of(Operations.acknowledge_inbox).input_schema
    for given in ([None] * (MOST_MEMBERS + 1), "[" + "{}," * MOST_MEMBERS + "{}]"):
        with pytest.raises(BadArguments, match="A list of 2001 members is too long: give at most 2000"):
            fit(schema, {"receipts": given})
