"""Whether the service of this user is ready: only an answer counts that proves the key of its data folder."""

import hmac
import secrets
import socket
import time
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cronty.cli.local_key import key_file, local_key_of
from cronty.contract.local_key import CHALLENGE, PROOF, ready_proof, without_names

_PATIENCE: Final = 5.0
_MAX_HEAD: Final = 16_384


def is_ready(url: str, data_dir: Path) -> bool:
    """Whether our Cronty answers there; proxies are ignored.

    Another user may have taken its port, so the key isn't sent: it has to be proved.
    """
    if not key_file(data_dir).exists():
        return False
    challenge = secrets.token_hex(32)
    try:
        status, *headers = _head_of_answer(url, challenge).decode("latin-1").split("\r\n")
    except OSError:
        return False
    answered = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in headers)}
    proof = ready_proof(local_key_of(data_dir), url, challenge)
    proved = hmac.compare_digest(answered.get(PROOF.lower(), "").encode(), proof.encode())
    return proved and status.split(" ")[1:2] == ["200"]


def _head_of_answer(url: str, challenge: str) -> bytes:
    """The first lines of what `/ready` answers; whoever is there gets no more than so many seconds and bytes."""
    parts, ends = urlsplit(without_names(url)), time.monotonic() + _PATIENCE
    head = bytearray()
    with socket.create_connection((parts.hostname or "", parts.port or 80), _PATIENCE) as there:
        there.sendall(f"GET /ready HTTP/1.1\r\nHost: {parts.netloc}\r\n{CHALLENGE}: {challenge}\r\n\r\n".encode())
        while b"\r\n\r\n" not in head and len(head) < _MAX_HEAD:
            there.settimeout(max(0.001, ends - time.monotonic()))
            if not (got := there.recv(4096)):
                break
            head += got
    return bytes(head.partition(b"\r\n\r\n")[0])
