"""A PostgreSQL server of Debian's on a free port of loopback, set up as the image of docker-compose.yaml does it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

INSTALL = "apt-get update && apt-get install --yes postgresql"


def programs() -> Path:
    """The directory of the server's programs; installed where that is allowed, else the test is skipped."""
    for _ in range(2):
        if found := sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
            return found[-1].parent
        if os.getuid() == 0 and shutil.which("apt-get"):
            subprocess.run(["sh", "-c", INSTALL], check=False)
    pytest.skip(f"needs PostgreSQL; type: sudo sh -c '{INSTALL}'")


@contextmanager
def server(port: str, password: str, initdb_arguments: str) -> Iterator[None]:
    """Run a server with the user and the database `airflow`; its files are gone afterwards."""
    import psycopg2

    owner = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
    home = Path(tempfile.mkdtemp(prefix="postgres-"))  # pytest's own directories are for one user alone
    password_file, data = home / "password", home / "data"
    password_file.write_text(password)
    for path in (home, password_file):
        if owner:
            shutil.chown(path, "postgres", "postgres")
    initdb = [str(programs() / "initdb"), "-D", str(data), "-U", "airflow", f"--pwfile={password_file}"]
    options = {**owner, "cwd": home, "stdin": subprocess.DEVNULL}
    subprocess.run([*initdb, *shlex.split(initdb_arguments)], check=True, capture_output=True, **options)
    command = [str(programs() / "postgres"), "-D", str(data), "-h", "127.0.0.1", "-p", port, "-k", str(home)]
    with open(home / "log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, **options)
    try:
        check = [str(programs() / "pg_isready"), "--host=127.0.0.1", f"--port={port}", "--timeout=60"]
        for _ in range(100):
            if subprocess.run(check, check=False, capture_output=True).returncode == 0:
                break
            time.sleep(0.2)
        connection = psycopg2.connect(host="127.0.0.1", port=port, user="airflow", password=password, dbname="postgres")
        connection.autocommit = True
        connection.cursor().execute("CREATE DATABASE airflow")
        connection.close()
        yield
    finally:
        process.terminate()  # a smart shutdown: it waits for its clients
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(home, ignore_errors=True)
