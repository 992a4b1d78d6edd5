#!/usr/bin/env python3
"""An agent as a program: reads its envelope and answers, or misbehaves as its first argument says."""

import json
import os
import resource
import signal
import sys
import time


def main(manner: str, *rest: str) -> int:
    envelope = sys.stdin.read()
    match manner:
        case "echo":
            print(envelope, end="")
        case "say":
            print(rest[0])
        case "environment":
            print(json.dumps(dict(os.environ)))
        case "exit":
            print("Traceback of many lines", rest[1] if rest[1:] else "no luck", sep="\n", file=sys.stderr)
            return int(rest[0])
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "flood":
            sys.stdout.write("x" * 10_000_000)
        case "bytes":
            sys.stdout.buffer.write(b"caf\xe9 \x00 \xff\xfe")
        case "sleep" | "deaf" | "fork":
            misbehave(manner, rest[0])
        case "leave":
            leave_a_child(rest[0])
        case "escape":
            escape(rest[0])
        case "mutiny":
            mutiny(rest[0])
        case "limits":
            kinds = ("CORE", "NOFILE", "DATA", "NPROC")
            print(json.dumps({kind: resource.getrlimit(getattr(resource, f"RLIMIT_{kind}"))[0] for kind in kinds}))
        case _:
            return 64
    return 0


def misbehave(manner: str, note: str) -> None:
    """Sleep forever; note our process, and our child's, in a file."""
    if manner == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = os.fork() if manner == "fork" else 0
    if manner == "fork" and not child:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    with open(f"{note}.part", "w", encoding="utf-8") as file:
        file.write(json.dumps([os.getpid(), child] if child else [os.getpid()]))
    os.rename(f"{note}.part", note)
    time.sleep(600)


def leave_a_child(note: str) -> None:
    """End well, and leave somebody behind who holds our standard output."""
    if child := os.fork():
        with open(note, "w", encoding="utf-8") as file:
            file.write(json.dumps([child]))
        print("done", end="", flush=True)
    else:
        time.sleep(600)


def escape(note: str) -> None:
    """End well, and leave somebody behind in a session of its own whose parent is gone."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            with open(f"{note}.part", "w", encoding="utf-8") as file:
                file.write(json.dumps([os.getpid()]))
            os.rename(f"{note}.part", note)
            time.sleep(600)
        os._exit(0)
    while not os.path.exists(note):
        time.sleep(0.01)
    print("done", end="", flush=True)


def mutiny(note: str) -> None:
    """End well, and leave somebody behind who has killed whoever is in charge."""
    supervisor = os.getppid()
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 3)
        if supervisor:  # 0 if it can't be seen from here
            os.kill(supervisor, signal.SIGKILL)
        with open(note, "w", encoding="utf-8"):
            time.sleep(600)
    while not os.path.exists(note):
        time.sleep(0.01)
    print("done", end="", flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
