"""The directories, files and locks of a query, all under WAREHOUSE/QUERY/."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tailrace.ground.errors import Busy, Damaged, Problem, Refused, refuse
from tailrace.ground.files import create_atomically
from tailrace.ground.object_path import Location
from tailrace.sources.segments import Types
from tailrace.storage.locks import RequireHeld, bucket_lock, file_lock
from tailrace.storage.warehouses import Warehouse, holds, location_of, moving_away

_FORMAT = 9  # of the journal, the tables and what tasks hold; to be raised when a later tailrace reads other ones


@dataclass(frozen=True)
class CheckpointManifest:
    """The manifest of a stream's checkpoint: the query and the source it was created for; it never changes.

    Attributes
    ----------
    id : str
        Identifies the checkpoint in the tables' app transactions.
    structure : dict
        `Query.structure()`: the parts of the query that may not change while the checkpoint lives.
    types : dict
        The types of each stream's columns when they were first read, by the stream's name.
    identities : dict
        The identity of each stream's source, where it has one: a Delta table's id; by the stream's name.
    """

    id: str
    structure: dict[str, Any]
    types: dict[str, Types]
    identities: dict[str, str] = field(default_factory=dict)
    format: int = _FORMAT


@dataclass(frozen=True)
class Layout:
    """The directories and files of one query in a warehouse."""

    home: Location

    @staticmethod
    def of(warehouse: Warehouse, query: str) -> Layout:
        return Layout(location_of(warehouse) / query)

    @property
    def is_remote(self) -> bool:
        """Whether it is in an object store: then the tasks' states are files of the checkpoint, and not Spark's."""
        return not isinstance(self.home, Path)

    def table(self, name: str) -> Location:
        return self.home / name

    def histories(self, streams: Iterable[str]) -> dict[str, Location]:
        """The table with the history of each stream, by the stream's name."""
        names = list(streams)
        return {name: self.table("history" if len(names) == 1 else f"history_{name}") for name in names}

    @staticmethod
    def is_history(table: str) -> bool:
        """True if a table of this name holds a stream's history."""
        return table == "history" or table.startswith("history_")

    @property
    def stream(self) -> Location:
        return self.home / "_stream"

    @property
    def checkpoint(self) -> Location:
        return self.stream / "checkpoint"

    @property
    def chunks(self) -> Location:
        """The directory of the immutable parts of the tasks' states, beside Spark's part of the checkpoint."""
        return self.checkpoint / "chunks"

    @property
    def states(self) -> Location:
        """The directory of the tasks' states, where Spark does not hold them."""
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
    def drain(self) -> Location:
        """The drain request: a file whose presence ends the driver after its current batch; windows stay open."""
        return self.stream / "drain"

    def request_drain(self) -> None:
        """Ask the driver to end after its current batch."""
        self.stream.mkdir(parents=True, exist_ok=True)
        self.drain.touch()

    def manifest(self) -> CheckpointManifest | None:
        """Read the checkpoint's manifest; None where there is no checkpoint yet."""
        file = self.stream / "origin.json"
        try:
            if not holds(file):
                return None
            values = json.loads(file.read_text())
            if not isinstance(values["format"], int):
                raise ValueError(f"its format is {values['format']!r}")
            if values["format"] != _FORMAT:  # `require_same` refuses it, whatever other fields it has
                return CheckpointManifest("", {}, {}, format=values["format"])
            return CheckpointManifest(**values)
        except KeyError:
            raise self._damaged_manifest(file, "it has no format") from None
        except (ValueError, TypeError) as error:
            raise self._damaged_manifest(file, str(error)) from None

    def _damaged_manifest(self, file: Location, wrong: str) -> Damaged:
        right = f"to restore it from a backup; or to begin anew: {moving_away(self.home)}"
        return Damaged([Problem(str(file), f"it is damaged ({wrong})", right)])

    def create_checkpoint(
        self, structure: dict[str, Any], types: dict[str, Types], identities: dict[str, str]
    ) -> CheckpointManifest:
        """Create a checkpoint: the journal's directory and the manifest, which is returned.

        Raises
        ------
        Busy
            When there is one: another driver has begun the stream, while this one stood still.
        """
        manifest = CheckpointManifest(uuid.uuid4().hex, structure, types, identities)
        self.journal.mkdir(parents=True, exist_ok=True)
        try:
            create_atomically(self.stream / "origin.json", json.dumps(asdict(manifest), indent=1))
        except FileExistsError:
            wrong = "another driver has begun this stream meanwhile"
            raise Busy([Problem(str(self.home), wrong, "one driver a query: this one ends")]) from None
        return manifest

    def require_deployable(self, structure: dict[str, Any], file: Path) -> None:
        """Refuse the query of a file from which no driver could go on with the checkpoint that is there.

        To be called before a driver is made, and before the one that it replaces is ended.

        Raises
        ------
        Refused
            When the checkpoint was made for another query, or by another version of tailrace.
        Damaged
            When the manifest can't be read.
        """
        manifest = self.manifest()
        if manifest is not None:
            self.require_same(manifest, structure, file)

    def require_same(self, manifest: CheckpointManifest, structure: dict[str, Any], file: Path | None = None) -> None:
        """Refuse a manifest of another format, and a query whose structure is not the manifest's.

        Parameters
        ----------
        file : Path, optional
            The query file, for the refusal to name.
        """
        if manifest.format != _FORMAT:
            version = "a newer" if manifest.format > _FORMAT else "an older"
            wrong = f"the stream was begun by {version} version of tailrace: format {manifest.format}, here {_FORMAT}"
            right = (
                "that version of tailrace, to go on with it; or another warehouse, "
                f"or {moving_away(self.home, 'old')}, to begin anew and read the source from its start"
            )
            raise refuse(str(self.home), wrong, right)
        current = json.loads(json.dumps(structure))
        differences = [
            name
            for name in sorted(current.keys() | manifest.structure.keys())
            if current.get(name) != manifest.structure.get(name)
        ]
        if differences:
            raise Refused(
                [
                    Problem(
                        name if file is None else f"{file}: {name}",
                        f"it is {_in_words(current.get(name))}, but the stream in {self.home} "
                        f"was begun with {_in_words(manifest.structure.get(name))}",
                        "the old value; or another name for the query, or another warehouse, "
                        "to begin anew and read the source from its start",
                    )
                    for name in differences
                ]
            )

    @contextmanager
    def lock(self, writer: str, wait_s: float | None = None) -> Iterator[RequireHeld]:
        """Hold the lock of a writer, of which there is one at a time; a process that dies releases it.

        Parameters
        ----------
        wait_s : float, optional
            Seconds to wait for another process that holds it. By default no longer than it takes to tell a living one
            from a dead one, which in a directory is at once.

        Yields
        ------
        callable
            Raises Busy where the lock is lost, which a lease in an object store may be.

        Raises
        ------
        Busy
            When another process still holds it then.
        """
        if isinstance(self.home, Path):
            self.home.mkdir(parents=True, exist_ok=True)
            with file_lock(self.home / f".{writer}.lock", str(self.home), writer, wait_s or 0):
                yield lambda: None
        else:
            with bucket_lock(self.home, writer, wait_s) as require_held:
                yield require_held


def _in_words(value: Any) -> str:
    return "not set" if value is None else repr(value)
