"""A simulated platform behind a real HTTP server on loopback, and a stand-in for spark-submit that submits to it."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from kit.fakes.simulated_platform import SimulatedPlatform
from tailrace.drivers.platform_http import HttpResponse

# It writes down its call and what it reads of its files, then submits, and does what the server's answer says.
STAND_IN = f"""#!{sys.executable}
import json, os, sys, time, urllib.request
words = sys.argv[1:]
conf = dict(words[i + 1].split("=", 1) for i, word in enumerate(words) if word == "--conf")
files = [words[i + 1].partition("#")[0] for i, word in enumerate(words) if word == "--files"]
content = "".join(urllib.request.urlopen(file).read().decode() for file in files)
with open(os.environ["CALLED"], "a") as called:
    print(json.dumps([os.getpid(), words, content]), file=called)
data = json.dumps(conf).encode()
answer = json.load(urllib.request.urlopen(os.environ["PLATFORM"] + "/submit", data, timeout=60))
if answer.get("hangs"):
    time.sleep(600)
sys.exit(answer["code"])
"""


class PlatformServer:
    """The server of one platform.

    Attributes
    ----------
    submitted : dict
        What the stand-in is told: its exit code, and whether it hangs once it has submitted.
    """

    def __init__(self, platform: SimulatedPlatform, port: int) -> None:
        self.platform, self.submitted = platform, {"code": 0}
        self.authorizations: list[str | None] = []
        lock, server = threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with lock:
                    answer = server.answer(self, body)
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            do_GET = do_PUT = do_POST = do_DELETE = _answer

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> HttpResponse:
        if request.path == "/submit":
            done = self.platform.submit(json.loads(body))
            return HttpResponse(200, json.dumps(self.submitted if done else {"code": 1}).encode())
        self.authorizations.append(request.headers.get("Authorization"))
        speak = self.platform.kubernetes if request.path.startswith("/api/v1/") else self.platform.yarn
        try:
            return speak(request.command, f"{self.url}{request.path}", dict(request.headers), body)
        except OSError:
            return HttpResponse(502, b"")


@contextmanager
def serving(platform: SimulatedPlatform, port: int = 0) -> Iterator[PlatformServer]:
    """Serve a platform in a thread."""
    server = PlatformServer(platform, port)
    thread = threading.Thread(target=server._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server._server.shutdown()
        server._server.server_close()
        thread.join()


def write_stand_in(directory: Path) -> Path:
    """Write the stand-in as the program spark-submit, and return its path."""
    directory.mkdir(parents=True)
    program = directory / "spark-submit"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    return program
