"""A Delta table as a dimension table: its newest version, which may differ in any row from the version before."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from tailrace.ground.errors import Refused, refuse
from tailrace.ground.files.source_roots import outside_roots
from tailrace.kind.table_place import TablePlace, require_columns
from tailrace.sources.lookup.dimension_sources import DIMENSION_SOURCES, DimensionSource, TableContent, as_parquet
from tailrace.storage.paths import require_fit
from tailrace.storage.table_files import find_file, identity_of, require_regular_log, resolve_file
from tailrace.storage.tables import open_table

_TABLE, _VERSION = "delta_table", "delta_version"
_REMEDY = "the directory of a whole Delta table, which holds _delta_log"


class DeltaDimension:
    """The source of a dimension table in a Delta table (`sources.dimension_sources.DimensionSource`).

    A version older than the one in force is refused: the table's log was cut, or the table was replaced by a copy.
    RESTORE makes a newer version. A different table in its place is accepted as a new version.
    """

    def __init__(self, location: TablePlace) -> None:
        require_fit(str(location.path), str(location.path))
        self.place, self._log, self._newest = location, location.file / "_delta_log", -1

    def token(self) -> Hashable:
        if self._newest < 0 or not self._commit(self._newest).exists():
            commits = (int(file.stem) for file in self._log.glob("[0-9]" * 20 + ".json"))
            self._newest = max(commits, default=-1)
        while self._commit(self._newest + 1).exists():  # one request if nothing is new, even for a long log
            self._newest += 1
        return self._newest, identity_of(self._commit(self._newest))

    def read(self, position: Mapping[str, str]) -> TableContent:
        if (problem := outside_roots(self.place.file)) is not None:
            raise Refused([problem])
        if not self._log.is_dir():
            raise refuse(str(self.place), "there is no Delta table", _REMEDY)
        require_regular_log(self._log)
        try:
            table = open_table(self.place.file)
            self._require_newer(table, position)
            require_columns(str(self.place), [field.name for field in table.schema().fields], self.place.columns)
            for path in pa.table(table.get_add_actions()).column("path").to_pylist():
                find_file(resolve_file(path, self.place.file))  # the log may name any file
            rows = table.to_pyarrow_table(columns=[*self.place.columns])
        except Refused:
            raise
        except (DeltaError, pa.ArrowException, OSError, ValueError) as error:
            raise refuse(str(self.place), f"its version can't be read: {error}", _REMEDY) from None
        made_of = {_TABLE: str(table.metadata().id), _VERSION: str(table.version())}
        return TableContent(as_parquet(self.place, [rows]), made_of)

    def _require_newer(self, table: DeltaTable, position: Mapping[str, str]) -> None:
        before, version = int(position.get(_VERSION, -1)), table.version()
        if position.get(_TABLE) == str(table.metadata().id) and version < before:
            fault = f"its log ends with version {version}, and the stream has read version {before}"
            raise refuse(str(self.place), fault, "the whole log; RESTORE, which adds a version, to go back to old rows")

    def _commit(self, version: int) -> Path:
        return self._log / f"{version:020d}.json"


def open_dimension(location: TablePlace) -> DimensionSource:
    """Open the source of a dimension table, without reading it."""
    return DeltaDimension(location) if location.format == "delta" else DIMENSION_SOURCES[location.format](location)
