"""A local HTTP server in the place of a chat room or a pager: it keeps what is posted to it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Webhook(ThreadingHTTPServer):
    """Keeps path, headers and body of each message, and the wall-clock time (s) at which it came.

    A `status` other than 200 is answered to messages that it does not keep.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received, self.times, self.status = [], [], 200

    @property
    def port(self) -> int:
        return self.server_address[1]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.status == 200:
            self.server.times.append(time.time())
            self.server.received.append((self.path, dict(self.headers), body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *arguments) -> None:
        pass


@contextmanager
def listening_webhook() -> Iterator[Webhook]:
    """A webhook that answers within the block."""
    with Webhook() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
