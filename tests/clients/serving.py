"""`cronty serve` and `cronty mcp` as processes of their own, with nothing but the settings a test names."""

import os
import re
import resource
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import httpx2
from platformdirs import user_cache_path

from tests.patience import PATIENCE
from tests.pooler import carried

CRONTY: Final = str(Path(sys.executable).parent / "cronty")


def environment(**settings: str) -> dict[str, str]:
    """Ours without Cronty's settings and without the width of somebody's terminal; modules stay compiled, or each start
    would take three times as long. A pooled run stays one."""
    left_out = ("CRONTY_", "PYTHONDONTWRITE", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)} | carried()
    kept["PYTHONPYCACHEPREFIX"] = str(user_cache_path("cronty-tests") / "pyc")
    kept["CRONTY_DATA_DIR"] = str(user_cache_path("cronty-tests") / "data")  # nobody's own
    return kept | {f"CRONTY_{name.upper()}": value for name, value in settings.items()}


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


@dataclass(frozen=True, slots=True)
class Served:
    """A running `cronty serve`, and its data folder."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    data: Path | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def key(self) -> str:
        """The key of whoever runs it."""
        assert self.data is not None
        return (self.data / "local.key").read_text().strip()

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"}

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return httpx2.get(self.url + path, headers=headers, timeout=PATIENCE)

    def wait_for(self, path: str, status: int, seconds: float = PATIENCE) -> httpx2.Response:
        """Ask until it answers with this status."""
        ends = time.monotonic() + seconds
        while True:
            try:
                answer = self.get(path)
            except httpx2.TransportError:
                answer = None
            if answer is not None and answer.status_code == status:
                return answer
            said = self.log.read_text(errors="replace")
            assert self.process.poll() is None, said
            assert time.monotonic() < ends, f"{path} answers {answer and answer.text}; the log:\n{said}"
            time.sleep(0.05)


@contextmanager
def serving(
    folder: Path, *options: str, port: int | None = None, files: int | None = None, **settings: str
) -> Generator[Served]:
    """`cronty serve` on a port of loopback, a free one if none is given, once it is ready. It may open `files`."""
    port, log = port or free_port(), folder / "serve.log"
    settings.setdefault("data_dir", str(folder / "data"))
    with open(log, "wb") as opened:
        process = subprocess.Popen(
            [CRONTY, "serve", "--port", str(port), *options],
            cwd=folder, env=environment(**settings), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=opened,
            preexec_fn=None if files is None else lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
        )  # fmt: skip
    served = Served(process, port, log, Path(settings["data_dir"]))
    try:
        served.wait_for("/ready", 200)
        yield served
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def keyed(served: Served) -> Generator[str]:
    """The server at an address where every request gets its key, for tools that can't send one."""
    head = re.compile(rb"[A-Z]+ \S+ HTTP/1\.1\r\n")
    given = f"Authorization: {served.bearer['authorization']}\r\n".encode()

    def with_key(sent: bytes) -> bytes:
        """As if it had been sent to the server itself, with its key."""
        if not (line := head.match(sent)):
            return sent
        rest = sent[line.end() :].replace(b":%d" % server.server_address[1], b":%d" % served.port)
        return line[0] + given + rest

    class Forward(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            client: socket.socket = self.request
            with socket.create_connection(("127.0.0.1", served.port)) as there:
                back = threading.Thread(target=pump, args=(there, client))
                back.start()
                pump(client, there, with_key)
                back.join()

    def pump(one: socket.socket, other: socket.socket, change: Callable[[bytes], bytes] = lambda sent: sent) -> None:
        with suppress(OSError):
            while sent := one.recv(1 << 16):
                other.sendall(change(sent))
            other.shutdown(socket.SHUT_WR)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Forward) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@contextmanager
def accepting() -> Generator[str]:
    """A push service on loopback that accepts every notification, as ntfy does; where it is."""

    class Accept(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", "0")))
            body = b'{"id": "abc"}'
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_POST

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Accept)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
