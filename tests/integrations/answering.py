"""A server on the loopback that gives the answers it was told to, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Server:
    """`status` and `answer` are for the next caller; `waits` holds the answer back."""

    url: str = ""
    status: int = 200
    answer: Any = None
    waits: threading.Event | None = None
    paths: list[str] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)


@contextmanager
def answering(answer: Any = None, status: int = 200) -> Iterator[Server]:
    """A server that is gone when the block ends. A text as answer is sent as it is."""
    served = Server(answer=answer, status=status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers.get("content-length") or 0))
            served.paths.append(self.path)
            served.bodies.append(json.loads(asked))
            if served.waits is not None:
                served.waits.wait(30)
            said = served.answer
            data = said.encode() if isinstance(said, str) else json.dumps(said).encode()
            self.send_response(served.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def handle(self) -> None:
            with suppress(ConnectionError):  # the caller was cancelled and has gone
                super().handle()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield served
    finally:
        if served.waits is not None:
            served.waits.set()
        server.shutdown()
        server.server_close()
        thread.join()
