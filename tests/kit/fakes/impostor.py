"""A socket that a test listens on in the place of a Kafka broker, to see which bytes clients send it.

It speaks as much of Kafka's protocol as makes a client send the password of SASL PLAIN, and closes the connection then.
"""

from __future__ import annotations

import socket
import struct
import threading
from types import TracebackType
from typing import Self

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
_UNSUPPORTED_VERSION = 35
_APIS = b"".join(struct.pack(">hhh", api, 0, 1) for api in (SASL_HANDSHAKE, SASL_AUTHENTICATE, API_VERSIONS))
_VERSIONS = struct.pack(">i", 3) + _APIS
_MECHANISMS = struct.pack(">hih", 0, 1, 5) + b"PLAIN"


class Impostor:
    """Listens on a free port of loopback.

    Attributes
    ----------
    address : str
    received : bytes
        All that was sent to it so far.
    is_asked : threading.Event
        Set at the first connection.
    """

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.received = b""
        self.is_asked = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            self.is_asked.set()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            while (request := self._request(connection)) is not None:
                api, version, correlation = struct.unpack(">hhi", request[:8])
                if api == API_VERSIONS:
                    error = _UNSUPPORTED_VERSION if version > 1 else 0
                    throttled = struct.pack(">i", 0) if version == 1 else b""
                    self._answer(connection, correlation, struct.pack(">h", error) + _VERSIONS + throttled)
                elif api == SASL_HANDSHAKE:
                    self._answer(connection, correlation, _MECHANISMS)
                else:
                    return

    def _request(self, connection: socket.socket) -> bytes | None:
        size = self._bytes(connection, 4)
        return None if size is None else self._bytes(connection, struct.unpack(">i", size)[0])

    def _bytes(self, connection: socket.socket, count: int) -> bytes | None:
        got = b""
        while len(got) < count:
            try:
                part = connection.recv(count - len(got))
            except OSError:
                return None
            if not part:
                return None
            self.received += part
            got += part
        return got

    @staticmethod
    def _answer(connection: socket.socket, correlation: int, body: bytes) -> None:
        connection.sendall(struct.pack(">ii", 4 + len(body), correlation) + body)
