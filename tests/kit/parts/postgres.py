"""A PostgreSQL server of Debian's on a free port of loopback, set up as the image of docker-compose.yaml does it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kit.parts import debian
from kit.suite.waiting import PATIENCE_S, until


def programs() -> Path:
    """Return the directory of the server's programs, installing them where that is allowed."""
    return debian.bring("PostgreSQL", "postgresql", installed)


def installed() -> Path | None:
    """Return the directory of the server's programs if it is there."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


class Server:
    """A server with its files in a directory of its own; it can be killed and started again.

    Its superuser is `airflow`, and so is the database that `create_database` makes.

    Attributes
    ----------
    arguments : list of str
        More arguments of the next start.
    """

    def __init__(self, port: str, password: str, initdb_arguments: str) -> None:
        self.port, self.password = port, password
        self.arguments: list[str] = []
        self.owner = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        self.home = Path(tempfile.mkdtemp(prefix="postgres-"))  # pytest's own directories are for one user alone
        password_file = self.home / "password"
        password_file.write_text(password)
        for path in (self.home, password_file):
            if self.owner:
                shutil.chown(path, "postgres", "postgres")
        initdb = [str(programs() / "initdb"), "-D", str(self.home / "data"), "-U", "airflow"]
        initdb += [f"--pwfile={password_file}", *shlex.split(initdb_arguments)]
        subprocess.run(initdb, check=True, capture_output=True, **self._options)
        self.start()

    @property
    def _options(self) -> dict[str, Any]:
        return {**self.owner, "cwd": self.home, "stdin": subprocess.DEVNULL}

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server, and wait until it answers."""
        command = [str(programs() / "postgres"), "-D", str(self.home / "data"), "-h", "127.0.0.1", "-p", self.port]
        with open(self.home / "log", "ab") as log:
            self.process = subprocess.Popen(
                [*command, "-k", str(self.home), *self.arguments],
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._options,
            )
        check = [str(programs() / "pg_isready"), "--host=127.0.0.1", f"--port={self.port}"]
        until(
            lambda: subprocess.run(check, check=False, capture_output=True).returncode == 0,
            "PostgreSQL answers",
            every_s=0.2,
            seen=(self.home / "log").read_text,
        )
        return self.process

    def stop(self) -> None:
        """Stop the server at once, as a crash does; its files stay."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(PATIENCE_S)

    def use_tls(self, key: str, certificate: str) -> None:
        """Take sessions by TLS, too, from the next start on."""
        for name, text in (("server.key", key), ("server.crt", certificate)):
            file = self.home / name
            file.write_text(text)
            file.chmod(0o600)
            if self.owner:
                shutil.chown(file, "postgres", "postgres")
            option = "ssl_key_file" if name.endswith("key") else "ssl_cert_file"
            self.arguments += ["-c", f"{option}={file}"]
        self.arguments += ["-c", "ssl=on"]

    def connection(self, **fields: Any) -> str:
        """Return Airflow's connection to the database in JSON."""
        login = {"login": "airflow", "password": self.password, "schema": "airflow"}
        return json.dumps({"conn_type": "postgres", "host": "127.0.0.1", "port": int(self.port), **login, **fields})

    def create_database(self) -> None:
        import psycopg2

        login = {"host": "127.0.0.1", "port": self.port, "user": "airflow", "password": self.password}
        connection = psycopg2.connect(**login, dbname="postgres")
        connection.autocommit = True
        connection.cursor().execute("CREATE DATABASE airflow")
        connection.close()

    def end(self) -> None:
        """End the server, and remove its files."""
        self.process.terminate()  # a smart shutdown: it waits for its clients
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


@contextmanager
def server(port: str, password: str, initdb_arguments: str) -> Iterator[Server]:
    """Run a server with the user and the database `airflow`; its files are gone afterwards."""
    running = Server(port, password, initdb_arguments)
    try:
        running.create_database()
        yield running
    finally:
        running.end()
