"""The directories, files and locks of a query, all under WAREHOUSE/QUERY/."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.ground.command_line import CommandLine, NextCommand
from tailrace.ground.errors import Busy, Damaged, InUse, Problem, Refused, refuse
from tailrace.ground.files.object_path import Location
from tailrace.query.query import Query
from tailrace.sources.segments import Types
from tailrace.storage.changed_query import changed_query, rebuild_of
from tailrace.storage.holding import RequireHeld
from tailrace.storage.locks import writer_lock
from tailrace.storage.manifest import FORMAT, CheckpointManifest, binding_changes, create_manifest
from tailrace.storage.warehouses import Warehouse, holds, location_of, moving_away

_BEGIN_ANEW = "another name for the query, or another warehouse, to begin again and read the source from its start"


@dataclass(frozen=True)
class Layout:
    """The directories and files of one query in a warehouse.

    Attributes
    ----------
    checkpoint_name : str
        A name other than the default is for a checkpoint that is built beside the one in force.
    """

    home: Location
    checkpoint_name: str = "checkpoint"

    @staticmethod
    def for_query(warehouse: Warehouse, query: str) -> Layout:
        return Layout(location_of(warehouse) / query)

    @property
    def is_remote(self) -> bool:
        """Whether the warehouse is in an object store."""
        return not isinstance(self.home, Path)

    def table(self, name: str) -> Location:
        return self.home / name

    def histories(self, streams: Iterable[str]) -> dict[str, Location]:
        """Return the table with the history of each stream, by the stream's name."""
        names = list(streams)
        return {name: self.table("history" if len(names) == 1 else f"history_{name}") for name in names}

    @property
    def stream(self) -> Location:
        return self.home / "_stream"

    @property
    def checkpoint(self) -> Location:
        return self.stream / self.checkpoint_name

    @property
    def chunks(self) -> Location:
        """The directory of the immutable parts of the tasks' states."""
        return self.checkpoint / "chunks"

    @property
    def states(self) -> Location:
        """The directory of the tasks' states."""
        return self.checkpoint / "tasks"

    @property
    def table_versions(self) -> Location:
        """The directory with the versions of the dimension table, to which the journal refers."""
        return self.stream / "table_versions"

    @property
    def journal(self) -> Location:
        return self.stream / "journal"

    @property
    def status(self) -> Location:
        return self.stream / "status.json"

    @property
    def deployed(self) -> Location:
        """The copy of the query file that the driver was deployed with, and its options."""
        return self.stream / "deployed.json"

    @property
    def watched_by(self) -> Location:
        """The file with the id of the Airflow run that watches the stream, and the stream's home."""
        return self.stream / "watched_by"

    @property
    def drain(self) -> Location:
        """The drain request: a file that makes the driver end after its current batch; windows stay open."""
        return self.stream / "drain"

    def request_drain(self) -> None:
        """Ask the driver to end after its current batch; an existing request keeps its time."""
        self.stream.mkdir(parents=True, exist_ok=True)
        if not self.drain.exists():
            self.drain.touch()

    def drain_requested_ms(self) -> int | None:
        """Return the wall-clock time of the drain request; None if the warehouse is an object store."""
        with suppress(FileNotFoundError):
            return round(self.drain.stat().st_mtime * 1000) if isinstance(self.drain, Path) else None
        return None

    @property
    def manifest_file(self) -> Location:
        return self.stream / "manifest.json"

    @property
    def switch(self) -> Location:
        """The record of a rebuild that is taking effect; while it exists, files and tables are partly moved."""
        return self.home / "_switch.json"

    def manifest(self) -> CheckpointManifest | None:
        """Read the checkpoint's manifest; None where there is no checkpoint yet.

        Raises
        ------
        Refused
            When the stream is of another format.
        Damaged
            When the manifest can't be read.
        Busy
            While a rebuild is taking effect.
        """
        if holds(self.switch):
            fault = "tailrace rebuild is putting in force what it has built, or was killed while it did"
            raise InUse([Problem(str(self.home), fault, "to wait for it, or to run it again: it goes on from there")])
        return self.read_manifest()

    def read_manifest(self) -> CheckpointManifest | None:
        """Read the manifest like `manifest`, also while a rebuild is taking effect."""
        file = self.manifest_file
        try:
            if not holds(file):
                return None
            values = json.loads(file.read_text())
            if not isinstance(values["format"], int):
                raise ValueError(f"its format is {values['format']!r}")
            if values["format"] != FORMAT:
                raise self.other_format(values["format"])
            return CheckpointManifest(**values)
        except KeyError:
            raise self._damaged_manifest(file, "it has no format") from None
        except (ValueError, TypeError) as error:
            raise self._damaged_manifest(file, str(error)) from None

    def require_format(self) -> None:
        """Refuse a stream of another format. A manifest that is missing or damaged names none.

        Raises
        ------
        Refused
        """
        with suppress(Damaged):
            self.read_manifest()

    def other_format(self, number: int) -> Refused:
        """Return the refusal of a stream of another format."""
        version = "a newer" if number > FORMAT else "an older"
        fault = f"the stream was begun by {version} version of tailrace: format {number}, here {FORMAT}"
        remedy = (
            f"that version of tailrace, to go on with it; or another name for the query, another warehouse, or "
            f"{moving_away(self.home, 'old')}, to begin again and read the source from its start"
        )
        return refuse(str(self.home), fault, remedy)

    def _damaged_manifest(self, file: Location, fault: str) -> Damaged:
        remedy = f"to restore it from a backup; or to begin again: {moving_away(self.home)}"
        return Damaged([Problem(str(file), f"it is damaged ({fault})", remedy)])

    def create_checkpoint(
        self,
        structure: dict[str, Any],
        types: dict[str, Types],
        identities: dict[str, str],
        columns: Mapping[str, Mapping[str, str]] = {},
    ) -> CheckpointManifest:
        """Create a checkpoint, which consists of the journal's directory and the manifest; return the manifest.

        Raises
        ------
        Busy
            When one exists: another driver has begun the stream while this one was suspended.
        """
        manifest = CheckpointManifest.new(structure, types, identities, columns)
        self.journal.mkdir(parents=True, exist_ok=True)
        try:
            create_manifest(self.manifest_file, manifest)
        except FileExistsError:
            fault = "another driver has begun this stream meanwhile"
            raise Busy([Problem(str(self.home), fault, "one driver a query: this one ends")]) from None
        return manifest

    def require_deployable(self, query: Query, file: Path | None, command: NextCommand | None = None) -> None:
        """Refuse a file's query if its driver could not go on with the present checkpoint.

        Call it before a driver is created, and before the previous one is ended.

        Raises
        ------
        ChangedQuery
            When the checkpoint was made for another query.
        Refused
            When it was made by another version of tailrace.
        Damaged
            When the manifest can't be read.
        Busy
            While a rebuild is taking effect.
        """
        manifest = self.manifest()
        if manifest is not None:
            self.require_same(manifest, query, file, command)

    def require_same(
        self,
        manifest: CheckpointManifest,
        query: Query,
        file: Path | None = None,
        command: NextCommand | None = None,
    ) -> None:
        """Refuse a query whose structure differs from the manifest's.

        Parameters
        ----------
        file : Path, optional
            The query file that refusals name.
        command : callable, optional
            Returns the commands that refusals name if no driver runs the query.
        """
        has_driver = command is None or holds(self.deployed)
        command = command or self.command(file)
        if changed := binding_changes(manifest, query):
            rebuild = None if self.is_remote else rebuild_of(changed, command, has_driver, query.has_late_tuples)
            raise changed_query(changed, str(self.home), file, rebuild, _BEGIN_ANEW)

    def command(self, file: Path | None = None) -> NextCommand:
        """Return the commands about the query; `file` is the query's, if it is known."""
        return CommandLine(file, str(self.home.parent))

    def rebuild_command(self) -> str:
        """Return the command that rebuilds the state of a stream on a disk."""
        return self.command()("rebuild")

    def lock(self, writer: str, wait_s: float | None = None) -> AbstractContextManager[RequireHeld]:
        """Hold the lock of a writer of this query, see `locks.writer_lock`."""
        return writer_lock(self.home, writer, wait_s)
