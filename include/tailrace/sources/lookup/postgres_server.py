"""Names a PostgreSQL database by a connection, opens sessions with it, and sorts its errors.

A wrong password, database or right is refused. An unavailable server is a `ConnectionError`, after which a live run
retries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailrace.ground.connections import Connection, read_connection, variable_of
from tailrace.ground.errors import refuse
from tailrace.ground.extras import require_extra

if TYPE_CHECKING:
    from psycopg2 import Error
    from psycopg2.extensions import connection as Session
    from psycopg2.extensions import cursor as Cursor

SETTINGS = (
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "sslcrl",
    "ssl_min_protocol_version",
    "channel_binding",
    "gssencmode",
    "krbsrvname",
    "target_session_attrs",
    "connect_timeout",
)
"""The settings of libpq that a connection's `extra` may have."""

DEFAULT_PORT = 5432
_OWN = {
    "application_name": "tailrace",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "client_encoding": "UTF8",
    "tcp_user_timeout": 30_000,  # ms
}
_SESSION = (
    "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET extra_float_digits = 3; "
    "SET idle_in_transaction_session_timeout = 0; "
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4"
)
"""The settings of a session, which some poolers refuse as `options`; the server ends a lost machine's session."""

EXAMPLE = (
    '{"conn_type": "postgres", "host": "db", "port": 5432, "login": "…", "password": "…", "schema": "DATABASE", '
    '"extra": {"sslmode": "verify-full", "sslrootcert": "/etc/ssl/ca.pem"}}'
)
"""A connection, in JSON."""

_REFUSALS = (
    (r"password|authentication failed|no pg_hba\.conf entry|role .* does not exist", "a login that the server lets in"),
    (r"database .* does not exist", "a database that is there, as the connection's schema"),
    (
        r"certificate|does not support SSL|sslmode|SSL error|root\.crt",
        "sslmode as the server has it, sslrootcert with the authority that signed its certificate, and its host by a "
        "name that stands in it",
    ),
)
"""Errors at the start of a session that no retry solves, by the client's English text, as they have no code."""

_STATEMENT = "a table, and rights, with which the statement runs"
_REMEDIES = (
    ("54", "keys and ids that take less than 2,700 bytes together: they are the table's primary key"),
    ("22", "a value that a column of this type can hold"),
)
"""The remedy of errors that no retry solves, by the start of an SQLSTATE."""

_COLUMN = re.compile(r"COPY \w+, line \d+, column ([^:]+)")  # in the context of an error; the value follows
_AWAY = ("08", "53", "57", "58")  # classes of SQLSTATE: no connection, no resources, ended by an operator, the disk
_AGAIN = ("40", "55P03")  # a deadlock, which rolls back one of two; a lock of another session


@dataclass(frozen=True)
class PostgresServer:
    """A PostgreSQL database, named by a connection.

    Attributes
    ----------
    connection : str
        The connection with its host and its secrets: the environment variable AIRFLOW_CONN_NAME.
    """

    connection: str

    def settings(self) -> dict[str, Any]:
        """Return the settings of a session. They contain secrets: never print or store them.

        Raises
        ------
        Refused
            When there is no such connection, or it is not valid.
        """
        read = read_connection(self.connection, EXAMPLE)
        missing = {"host": read.host, "login": read.login, "schema": read.database}
        if absent := [name for name, value in missing.items() if not value]:
            fault = f"it has no {', '.join(absent)}"
            raise refuse(str(self), fault, f"{variable_of(self.connection)} as '{EXAMPLE}'")
        if unknown := sorted(read.extra.keys() - set(SETTINGS)):
            fault = f"it has settings that no connection may have: {', '.join(unknown)}"
            raise refuse(str(self), fault, ", ".join(SETTINGS))
        address = {"host": read.host, "port": read.port or DEFAULT_PORT, "dbname": read.database}
        return _OWN | read.extra | address | {"user": read.login, "password": read.password or ""}

    def connect(self) -> Session:
        """Open a session; its first statement begins a transaction.

        Raises
        ------
        Refused
            When the library is missing, or the login, the database or TLS is wrong.
        ConnectionError
            When the server is away.
        """
        require_extra(str(self), "postgres")
        import psycopg2

        settings = self.settings()
        try:
            session: Session = psycopg2.connect(**settings)
        except psycopg2.Error as error:
            raise self._no_session(error) from None
        return session

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Open a session for a block; its transaction is rolled back unless the block commits it.

        Raises
        ------
        Refused
            As `connect`; also when the server refuses a statement.
        ConnectionError
            When the server is away, or another session held a lock for longer than `lock_timeout`.
        """
        session = self.connect()
        try:
            with self.errors():
                session.autocommit = True
                with session.cursor() as cursor:
                    cursor.execute(_SESSION)
                session.autocommit = False
                yield session
        finally:
            session.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise errors of the library as the errors that `session` names."""
        import psycopg2

        try:
            yield
        except psycopg2.Error as error:
            raise self._error(error) from None

    def _no_session(self, error: Error) -> Exception:
        reason = _text(error)
        for pattern, remedy in _REFUSALS:
            if re.search(pattern, reason):
                return refuse(str(self), reason, remedy)
        return ConnectionError(f"{self}: {reason}")

    def _error(self, error: Error) -> Exception:
        import psycopg2

        code, reason = error.pgcode or "", _text(error)
        is_away = isinstance(error, psycopg2.OperationalError | psycopg2.InterfaceError) and not code
        if is_away or code.startswith((*_AWAY, *_AGAIN)):
            return ConnectionError(f"{self}: {reason}")
        remedy = next((remedy for start, remedy in _REMEDIES if code.startswith(start)), _STATEMENT)
        return refuse(f"{self}: PostgreSQL", reason, remedy)

    def __str__(self) -> str:
        return f"connection {self.connection}"


def address_of(connection: Connection) -> str | None:
    """Return host:port of a connection; None if it has no host."""
    return f"{connection.host}:{connection.port or DEFAULT_PORT}" if connection.host else None


def takes_lock(cursor: Cursor, statement: str, arguments: Sequence[Any]) -> bool:
    """Run a statement that takes a lock; return False if another session held it for longer than `lock_timeout`."""
    import psycopg2

    try:
        cursor.execute(statement, arguments)
    except psycopg2.errors.LockNotAvailable:
        return False
    return True


def quoted(name: str) -> str:
    """Return a name as a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def _text(error: Error) -> str:
    primary = error.diag.message_primary
    column = _COLUMN.search(error.diag.context or "")
    return " ".join((primary or str(error)).split()) + (f", in column {column[1]}" if column else "")
