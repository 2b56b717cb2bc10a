"""The configuration of an embedded supervisord, and its address and credentials."""

from __future__ import annotations

from dataclasses import dataclass, field

CONFIGURATION = """\
[supervisord]
nodaemon=true
silent=true
logfile=supervisord.log
logfile_maxbytes=20MB
logfile_backups=3
pidfile=supervisord.pid
childlogdir=.

[inet_http_server]
port=127.0.0.1:{port}
username={user}
password={password}

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[rpcinterface:tailrace]
supervisor.rpcinterface_factory=tailrace.drivers.rpc_only:make_interface

[include]
files=programs/*.conf
"""


@dataclass(frozen=True)
class Access:
    """The address and credentials of a supervisord, for a connection; its repr hides the password."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
