"""Gives sources access to Delta tables, as the room `sources` does not know Delta Lake."""

from __future__ import annotations

import pyarrow as pa

from tailrace.ground.errors import refuse
from tailrace.ground.files.object_path import Location
from tailrace.sources.columns import SourceMapping
from tailrace.sources.feed import Feed
from tailrace.sources.reading_progress import ReadFile
from tailrace.sources.segments import SourceFile, Types
from tailrace.storage.delta_feed import DeltaFeed
from tailrace.storage.table_files import find_file, resolve_file
from tailrace.storage.tables import open_table


class DeltaAccess:
    """Opens and lists Delta tables as sources (`sources.declared_source.TableAccess`)."""

    def feed(
        self, path: Location, columns: SourceMapping, types: Types, before: dict[str, ReadFile], version: int
    ) -> Feed:
        return DeltaFeed(path, columns, types, before, version)

    def files(self, path: Location) -> list[SourceFile]:
        if not (path / "_delta_log").is_dir():
            raise refuse(str(path), "there is no Delta table", "the directory of one, which holds _delta_log")
        actions = pa.table(open_table(path).get_add_actions(flatten=True)).to_pylist()
        actions.sort(key=lambda action: (action["modification_time"], action["path"]))
        return [find_file(resolve_file(action["path"], path)) for action in actions]


DELTA_TABLES = DeltaAccess()
