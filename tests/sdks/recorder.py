"""A server on the loopback that answers every SDK call and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Recorder:
    """What arrived, and what the next caller is answered."""

    url: str = ""
    answer: dict[str, Any] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    @property
    def body(self) -> dict[str, Any]:
        """The body that came last."""
        return self.bodies[-1]


@contextmanager
def recording(answer: dict[str, Any]) -> Iterator[Recorder]:
    """A recorder that answers every POST with `answer`, until the block ends."""
    recorder = Recorder(answer=answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            recorder.bodies.append(json.loads(self.rfile.read(length)))
            recorder.paths.append(self.path)
            recorder.headers.append({key.lower(): value for key, value in self.headers.items()})
            said = json.dumps(recorder.answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    recorder.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield recorder
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
