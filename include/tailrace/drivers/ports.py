"""Ports of loopback: a free one, and whether one is free."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"
_FIRST, _TRIED = 8080, 100  # ports at which people look for their servers


def free_port() -> int:
    """Return a port of loopback on which nobody listens now."""
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        return int(listener.getsockname()[1])


def is_free(port: int) -> bool:
    """Test whether nobody listens on a port of loopback; connections that have just ended do not count."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def lasting_port() -> int:
    """Return a free port for long use: from 8080 on, below the ports that the system gives to clients."""
    return next((port for port in range(_FIRST, _FIRST + _TRIED) if is_free(port)), None) or free_port()
