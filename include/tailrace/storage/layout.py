"""The directories, files and locks of a query, all under WAREHOUSE/QUERY/."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.engine.task_states import VERSION as STATE_VERSION
from tailrace.ground.errors import Busy, Damaged, InUse, Problem, Refused, refuse
from tailrace.ground.object_path import Location
from tailrace.query.query import Query
from tailrace.sources.segments import Types
from tailrace.storage.holding import RequireHeld
from tailrace.storage.locks import writer_lock
from tailrace.storage.manifest import FORMAT, TAKEN_OVER, CheckpointManifest, changes, create_manifest, keeps_answers
from tailrace.storage.warehouses import Warehouse, holds, location_of, moving_away

_BEGIN_ANEW = "another name for the query, or another warehouse, to begin again and read the source from its start"


@dataclass(frozen=True)
class Layout:
    """The directories and files of one query in a warehouse.

    Attributes
    ----------
    checkpoint_name : str
        Another name than the default belongs to a checkpoint that is built beside the one in force.
    """

    home: Location
    checkpoint_name: str = "checkpoint"

    @staticmethod
    def of(warehouse: Warehouse, query: str) -> Layout:
        return Layout(location_of(warehouse) / query)

    @property
    def is_remote(self) -> bool:
        """True in an object store."""
        return not isinstance(self.home, Path)

    def table(self, name: str) -> Location:
        return self.home / name

    def histories(self, streams: Iterable[str]) -> dict[str, Location]:
        """Return the table with the history of each stream, by the stream's name."""
        names = list(streams)
        return {name: self.table("history" if len(names) == 1 else f"history_{name}") for name in names}

    @staticmethod
    def is_history(table: str) -> bool:
        """Test whether a table of this name holds a stream's history."""
        return table == "history" or table.startswith("history_")

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
        """The directory with the versions of the dimension table; the journal refers to them."""
        return self.stream / "table_versions"

    @property
    def journal(self) -> Location:
        return self.stream / "journal"

    @property
    def status(self) -> Location:
        return self.stream / "status.json"

    @property
    def deployed(self) -> Location:
        """The query file's copy that the driver was deployed with, and its options."""
        return self.stream / "deployed.json"

    @property
    def watched_by(self) -> Location:
        """The id of the run of Airflow's that watches the stream, and the home of that stream."""
        return self.stream / "watched_by"

    @property
    def drain(self) -> Location:
        """The drain request: a file whose presence ends the driver after its current batch; windows stay open."""
        return self.stream / "drain"

    def request_drain(self) -> None:
        """Ask the driver to end after its current batch."""
        self.stream.mkdir(parents=True, exist_ok=True)
        self.drain.touch()

    @property
    def manifest_file(self) -> Location:
        return self.stream / "origin.json"

    @property
    def switch(self) -> Location:
        """The record of a rebuild that is being put in force: while it is there, files and tables are half moved."""
        return self.home / "_switch.json"

    def manifest(self) -> CheckpointManifest | None:
        """Read the checkpoint's manifest; None where there is no checkpoint yet.

        Raises
        ------
        Busy
            While a rebuild is being put in force.
        """
        if holds(self.switch):
            fault = "tailrace rebuild is putting in force what it has built, or was killed while it did"
            raise InUse([Problem(str(self.home), fault, "to wait for it, or to run it again: it goes on from there")])
        return self.read_manifest()

    def read_manifest(self) -> CheckpointManifest | None:
        """Read the manifest as it stands, also while a rebuild is being put in force."""
        file = self.manifest_file
        try:
            if not holds(file):
                return None
            values = json.loads(file.read_text())
            if not isinstance(values["format"], int):
                raise ValueError(f"its format is {values['format']!r}")
            if values["format"] not in (FORMAT, TAKEN_OVER):  # `require_same` refuses it, whatever other fields it has
                return CheckpointManifest("", {}, {}, format=values["format"])
            return CheckpointManifest(**values)
        except KeyError:
            raise self._damaged_manifest(file, "it has no format") from None
        except (ValueError, TypeError) as error:
            raise self._damaged_manifest(file, str(error)) from None

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
        """Create a checkpoint: the journal's directory and the manifest, which is returned.

        Raises
        ------
        Busy
            When there is one: another driver has begun the stream, while this one stood still.
        """
        manifest = CheckpointManifest.new(structure, types, identities, columns)
        self.journal.mkdir(parents=True, exist_ok=True)
        try:
            create_manifest(self.manifest_file, manifest)
        except FileExistsError:
            fault = "another driver has begun this stream meanwhile"
            raise Busy([Problem(str(self.home), fault, "one driver a query: this one ends")]) from None
        return manifest

    def require_deployable(self, query: Query, file: Path) -> None:
        """Refuse a file's query if its driver could not go on with the present checkpoint.

        To be called before a driver is made, and before the one that it replaces is ended.

        Raises
        ------
        Refused
            When the checkpoint was made for another query, or by another version of tailrace.
        Damaged
            When the manifest can't be read.
        Busy
            While a rebuild is being put in force.
        """
        manifest = self.manifest()
        if manifest is not None:
            self.require_same(manifest, query, file)

    def require_same(self, manifest: CheckpointManifest, query: Query, file: Path | None = None) -> None:
        """Refuse a manifest of another format, and a query whose structure is not the manifest's.

        Parameters
        ----------
        file : Path, optional
            The query file, for the refusal to name.
        """
        if manifest.format != FORMAT:
            version = "a newer" if manifest.format > FORMAT else "an older"
            fault = f"the stream was begun by {version} version of tailrace: format {manifest.format}, here {FORMAT}"
            taken_over = f"{self.rebuild_command(file)}, which takes it over; or " * (
                manifest.format == TAKEN_OVER and not self.is_remote
            )
            remedy = (
                f"{taken_over}that version of tailrace, to go on with it; or another warehouse, "
                f"or {moving_away(self.home, 'old')}, to begin again and read the source from its start"
            )
            raise refuse(str(self.home), fault, remedy)
        if manifest.state != STATE_VERSION:
            fault = f"the state of its tasks is of version {manifest.state}, this tailrace reads {STATE_VERSION}"
            anew = _BEGIN_ANEW if self.is_remote else f"{self.rebuild_command(file)}, which builds the state again"
            remedy = f"the tailrace that wrote it; or {anew}"
            raise refuse(str(self.home), fault, remedy)
        if changed := changes(manifest, query):
            rebuild = "" if self.is_remote else f"{self.rebuild_command(file)}, {_outcome(changed)}; or "
            raise Refused(
                [
                    Problem(
                        name if file is None else f"{file}: {name}",
                        f"it is {_in_words(after)}, but the stream in {self.home} was begun with {_in_words(before)}",
                        f"the old value; or {rebuild}{_BEGIN_ANEW}",
                    )
                    for name, (before, after) in changed.items()
                ]
            )

    def rebuild_command(self, file: Path | None = None) -> str:
        """Return the command that rebuilds the state of a stream on a disk; `file` is the query's, if it is known."""
        return f"tailrace rebuild {'FILE' if file is None else file} --warehouse {self.home.parent}"

    def lock(self, writer: str, wait_s: float | None = None) -> AbstractContextManager[RequireHeld]:
        """Hold the lock of a writer of this query, see `locks.writer_lock`."""
        return writer_lock(self.home, writer, wait_s)


def _outcome(changed: Iterable[str]) -> str:
    if keeps_answers(changed):
        return "once the driver is drained: it spreads the state over the tasks again, and keeps all answers"
    return "once the driver is drained: it answers all of history again, and keeps the old answers aside"


def _in_words(value: Any) -> str:
    return "not set" if value is None else repr(value)
