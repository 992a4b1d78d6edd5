"""What runs in a process of its own: performs plain functions that it is told to, one after the other."""

import importlib
import json
import logging
import multiprocessing
import os
import signal
import threading
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from functools import cache
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple, cast, override

from cronty.actions.current import CurrentRun
from cronty.actions.descendants import end_descendants
from cronty.actions.secrecy import hide_process
from cronty.actions.tasks import Registry, Task, describe_error, outcome_of_sync
from cronty.jobs.outcome import Cancelled, Done, Failed, Interrupted, Outcome, Snoozed

_OUTCOMES: Final[dict[str, type[Outcome]]] = {
    one.__name__: one for one in (Done, Failed, Snoozed, Cancelled, Interrupted)
}


class Call(NamedTuple):
    """A function by where it is defined, and what to perform it with."""

    module: str
    qualname: str
    task: str
    run: CurrentRun
    arguments: str
    whole: bool
    """Whether its result is wanted whole, even if it is too long to be kept: middleware has it first."""
    number: int = 0


type Answer = logging.LogRecord | tuple[int, Outcome] | None
"""None when it is ready for its first call; for each call any number of log records, then its number and outcome."""


def packed(answer: Answer) -> bytes:
    """As JSON: what somebody else may have sent, whom the function has started, must run nothing in the worker."""
    if isinstance(answer, logging.LogRecord):
        return json.dumps({"log": answer.__dict__}, default=str, skipkeys=True).encode()
    if answer is None:
        return b"null"
    number, outcome = answer
    fields = asdict(outcome)
    if isinstance(outcome, Failed | Snoozed):
        fields["wait"] = outcome.wait.total_seconds()
    return json.dumps({"number": number, "outcome": type(outcome).__name__, "fields": fields}).encode()


def unpacked(text: bytes) -> Answer:
    """The reverse; what can't be read raises some exception."""
    said = json.loads(text)
    if said is None:
        return None
    if "log" in said:
        return logging.makeLogRecord(said["log"])
    fields = said["fields"]
    if "wait" in fields:
        fields["wait"] = timedelta(seconds=fields["wait"])
    return said["number"], _OUTCOMES[said["outcome"]](**fields)


class Forward(QueueHandler):
    """Log records go to the process that asked, whose handlers know what to do with them."""

    @override
    def enqueue(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            cast("Connection[Any, Any]", self.queue).send_bytes(packed(record))


def serve(pipe: "Connection[Any, Call]", level: int, module: str) -> None:
    """Perform calls until the other side closes the pipe, or is gone."""
    hide_process()  # or what a function starts could take our pipe
    with suppress(OSError):
        os.setpgid(0, 0)  # so that what a function starts can be ended with it; and Ctrl-C is for the worker alone
    threading.Thread(target=_end_with_parent, daemon=True).start()
    multiprocessing.current_process().daemon = False  # else a function couldn't have a pool of processes
    os.register_at_fork(after_in_child=pipe.close)  # a forked child must not answer, or keep our end open after we exit
    own = os.getpid()
    with suppress(BaseException):  # the first call tells; what it takes doesn't count for the timeout of that
        importlib.import_module(module)
    forward = Forward(cast("Any", pipe))
    root = logging.getLogger()
    root.handlers[:] = [forward]
    root.setLevel(level)
    pipe.send_bytes(packed(None))
    while True:
        try:
            call = pipe.recv()
        except (EOFError, OSError):
            return
        outcome = _perform(call)
        if os.getpid() != own:
            os._exit(0)  # a fork that fell out of the function
        forward.acquire()  # a thread that the function has left may be logging
        pipe.send_bytes(packed((call.number, outcome)))
        forward.release()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        end_descendants(os.getpid())
        with suppress(OSError):
            os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(1)


def _perform(call: Call) -> Outcome:
    try:
        task = _task(call.module, call.qualname, call.task)
    except BaseException as error:
        return Failed(f"Its process can't import {call.module}.{call.qualname}: {describe_error(error)}")
    return outcome_of_sync(task, call.run, call.arguments, whole=call.whole)


@cache
def _task(module: str, qualname: str, name: str) -> Task:
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    registered = getattr(found, "registered", None)
    return Registry().add(registered.function if isinstance(registered, Task) else found, name, around=())
