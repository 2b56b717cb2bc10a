"""The folder of `tailrace serve`: its directories and its port; folders with other content are refused."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.drivers.ports import LOOPBACK, is_free, lasting_port
from tailrace.embedded.embedded_platform import AIRFLOW, DRIVERS
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.held_directory import held_directory

DEMO_RECORD = ".demo"
"""The file that marks the folder of a demonstration."""

_RECORD = ".serve"  # the file with the port, and the process that serves
_PORTS = "a port from 1 to 65535"


@dataclass(frozen=True)
class ServedFolder:
    """A folder with the queries, the tables, Airflow and the driver host of one platform; they stay between starts."""

    home: Path

    @property
    def queries(self) -> Path:
        """The directory of the query files."""
        return self.home / "queries"

    @property
    def warehouse(self) -> Path:
        """The directory of the tables."""
        return self.home / "warehouse"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Create the folder, and hold it for this process.

        Raises
        ------
        Refused
            When it is a demonstration's, has an Airflow or a driver host that `serve` did not create, is served
            already, or can't be written to.
        """
        self._require_own()
        with held_directory(self.home, str(self.home), self._in_use):
            yield

    def take_port(self, asked: int | None) -> int:
        """Return and record the port of Airflow: the requested one, else the last one, else a free one.

        The directory of the query files is created, too; nothing is written in the folder before.

        Raises
        ------
        Refused
            When something listens on it.
        """
        last = self._record().get("port")
        port = asked or last or lasting_port()
        if not is_free(port):
            which = "" if asked else ", where this folder was served last,"
            fault = f"something else listens on port {port} of {LOOPBACK}{which}"
            raise refuse("--port", fault, f"to end that, or another port, which is kept: --port {lasting_port()}")
        write_atomically(self.home / _RECORD, json.dumps({"port": port, "pid": os.getpid()}), 0o600)
        self.queries.mkdir(exist_ok=True)
        return port

    def _require_own(self) -> None:
        """Refuse a folder with files that `tailrace serve` would write, but has not written."""
        if (self.home / DEMO_RECORD).exists():
            fault = "it is a demonstration's, and the next demonstration deletes what this one made"
            raise refuse(str(self.home), fault, "a folder of your own: tailrace serve FOLDER")
        if (self.home / _RECORD).exists():
            return
        for directory in (self.home / AIRFLOW, self.home / DRIVERS):
            if directory.exists():
                raise refuse(str(directory), "tailrace serve did not make it, and would write there", "another folder")

    def _in_use(self) -> Refused:
        record = self._record()
        where = f" (pid {record['pid']}), at http://{LOOPBACK}:{record['port']}" if record else ""
        fault = f"tailrace serve{where} runs there"
        return refuse(str(self.home), fault, "to use that one, Ctrl-C where it runs, or another folder")

    def _record(self) -> dict[str, Any]:
        """Return the record; empty if nobody has served the folder, or the record is damaged."""
        try:
            record = json.loads((self.home / _RECORD).read_text(encoding="utf-8"))
            return {"port": int(record["port"]), "pid": int(record["pid"])}
        except (OSError, ValueError, KeyError, TypeError):
            return {}
