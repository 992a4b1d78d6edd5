"""An ntfy on loopback that remembers what was published; it can be busy, and it can be down."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, override


@dataclass
class Ntfy:
    """`status` is what it answers; `stop` and `start` keep the port."""

    port: int = 0
    status: int = 200
    published: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _server: ThreadingHTTPServer | None = None
    _thread: threading.Thread | None = None

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        ntfy = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                said: dict[str, object] = {"error": "busy", "code": ntfy.status}
                if ntfy.status == 200:
                    ntfy.published.append(body)
                    said = {"id": f"msg{len(ntfy.published)}", "time": 1794721607, "topic": body["topic"]}
                answer = json.dumps(said).encode()
                self.send_response(ntfy.status)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            @override
            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._server = None

    def to(self, topic: str) -> list[dict[str, Any]]:
        return [one for one in self.published if one["topic"] == topic]
