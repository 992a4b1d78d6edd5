"""Every code an `Err` may have: its status over HTTP, and what it means."""

from typing import Final, NamedTuple


class Code(NamedTuple):
    status: int
    meaning: str


CODES: Final[dict[str, Code]] = {
    # the caller
    "no_token": Code(401, "There was no token."),
    "bad_token": Code(401, "The token isn't valid."),
    "missing_scope": Code(403, "The token doesn't have the scope that the call needs."),
    "not_allowed": Code(403, "This caller may not do that."),
    "foreign_origin": Code(403, "A form came from another site's page."),
    "owner_erased": Code(403, "The owner is being erased."),
    "misdirected": Code(421, "The server isn't called by that host name."),
    # the thing asked for
    "not_found": Code(404, "There is no such thing, or it belongs to another owner."),
    "no_such_path": Code(404, "There is nothing at that path."),
    "bad_link": Code(404, "The link of a button isn't one of ours, or was changed."),
    "bad_method": Code(405, "That path doesn't take this method."),
    "not_editable": Code(409, "The job has ended, or is in a state in which that isn't possible."),
    "key_taken": Code(409, "Another job has been made with the same idempotency key, by another request."),
    "task_taken": Code(409, "A worker of another program performs a task of the same name (in Python, at the start)."),
    "already_running": Code(409, "The job is already running, and runs one at a time."),
    "not_pending": Code(409, "The agenda item isn't pending any more."),
    "too_many_calendars": Code(409, "The owner already has the most lists of days off allowed."),
    "calendar_in_use": Code(409, "Jobs use this list of days off."),
    "too_many_keys": Code(409, "The owner already has the most keys allowed."),
    "too_many_channels": Code(409, "The owner already has the most channels allowed."),
    "archived": Code(409, "The entry of the trail was archived with its month."),
    "broken": Code(409, "The trail was changed: it doesn't verify."),
    "busy": Code(409, "Others use what was to be changed; nothing was."),
    "not_over": Code(409, "The month isn't over yet."),
    "other_file": Code(409, "There is a file of that name with something else in it."),
    "link_expired": Code(410, "The link of a button is too old."),
    "version_conflict": Code(412, "The job has changed since it was looked at."),
    "too_large": Code(413, "The body is too large."),
    # the request
    "bad_request": Code(422, "A field is missing, unknown or of the wrong type."),
    "ambiguous": Code(422, "The schedule, or the name of a job, may mean several things; `choices` lists them."),
    "bad_agent": Code(422, "The name of an agent can't be used."),
    "bad_arguments": Code(422, "The arguments don't fit the task, or aren't plain JSON."),
    "bad_change": Code(422, "Nothing to change was given."),
    "bad_channel": Code(422, "The channel's URL can't be used."),
    "bad_connection": Code(422, "The connection given to enqueue, in Python, can't be used."),
    "bad_count": Code(422, "The count is out of range."),
    "bad_cursor": Code(422, "The cursor didn't come from an earlier page."),
    "bad_head": Code(422, "The head of a trail can't be read."),
    "bad_key": Code(422, "The idempotency key can't be used."),
    "bad_kind": Code(422, "There is no such kind of action."),
    "bad_limit": Code(422, "The limit is out of range."),
    "bad_limits": Code(422, "The limits of an owner can't be read."),
    "bad_max_runs": Code(422, "max_runs is out of range."),
    "bad_name": Code(422, "The name is empty, too long or can't be stored."),
    "bad_owner": Code(422, "The name of an owner can't be used."),
    "bad_policy": Code(422, "The policy can't be read."),
    "bad_prompt": Code(422, "The prompt is empty or too long."),
    "bad_receipt": Code(422, "No receipt, or too many receipts, were given."),
    "bad_runs": Code(422, "No run, or too many runs, were named."),
    "bad_scope": Code(422, "There is no such scope."),
    "bad_slot": Code(422, "No run is planned for that time, or it can't be moved there."),
    "bad_snooze": Code(422, "The snooze time can't be read, or is in the past."),
    "bad_tags": Code(422, "There are too many tags, or one is too long."),
    "bad_time": Code(422, "A time can't be read, or is in the past."),
    "bad_timezone": Code(422, "There is no such time zone."),
    "bad_trigger": Code(422, "The schedule is invalid, or never fires."),
    "bad_wait": Code(422, "The wait is out of range."),
    "not_sent": Code(422, "The receiving service refused the notification."),
    "unreadable": Code(422, "A schedule or time in words can't be read."),
    "unknown_channel": Code(422, "There is no channel of that name, but one has a similar name."),
    "unknown_state": Code(422, "There is no such verdict."),
    "unknown_status": Code(422, "There is no such status."),
    "unknown_task": Code(422, "No worker has registered such a task."),
    # limits and outages
    "over_limit": Code(429, "The owner has reached one of its limits."),
    "too_many_listeners": Code(429, "The owner has reached the limit on event connections."),
    "too_many_requests": Code(429, "The owner has too many requests in progress."),
    "fault": Code(500, "Cronty failed unexpectedly; the call may or may not have taken effect."),
    "no_commands": Code(501, "The server declares no commands."),
    "no_key": Code(501, "The server has no key to encrypt with."),
    "no_secret": Code(501, "The server has no secret to sign tokens with."),
    "cannot_open": Code(501, "A channel was encrypted with a key that the server doesn't have."),
    "unavailable": Code(503, "The database can't be used right now."),
    "unreachable": Code(503, "The server can't be reached."),
}


def status_of(code: str) -> int:
    """422 for a code that isn't listed."""
    return CODES[code].status if code in CODES else 422
