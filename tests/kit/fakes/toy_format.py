"""A toy format of files: a header of `name:type`, then records; all with `;` between fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats.file_format import ALONE, OtherFiles, SegmentReader
from tailrace.sources.formats.required_columns import require
from tailrace.sources.segments import (
    RawSegment,
    Segment,
    SourceFile,
    Types,
    open_source,
    require_taken,
)


@dataclass(frozen=True)
class ToyFiles:
    connection: str | None = None
    suffixes: ClassVar[tuple[str, ...]] = (".toy",)
    states_types: ClassVar[bool] = True
    is_log: ClassVar[bool] = True

    def at(self, connection: str | None, exact: frozenset[str] = frozenset()) -> SegmentReader:
        return replace(self, connection=connection)

    def whole(self, path: SourceFile, still: bool) -> bool:
        return still

    def types(self, path: SourceFile, columns: SourceMapping, others: OtherFiles = ALONE) -> Types | None:
        types = dict(field.split(":") for field in _lines(path)[0].split(";"))
        require(path, columns, [*types])
        return {name: types[name] for name in columns.named().values()}

    def names(self, path: SourceFile, columns: SourceMapping) -> set[str] | None:
        return None

    def unfit(self, path: SourceFile, columns: SourceMapping) -> dict[str, Any]:
        return {}

    def split(self, path: SourceFile) -> list[Segment]:
        rows = len(_lines(path)) - 1
        return [Segment(str(path), 0, rows, of_rows=rows)]

    def read(self, segment: Segment, types: Types) -> RawSegment:
        header, *records = _lines(require_taken(segment, self.connection))
        names = [field.partition(":")[0] for field in header.split(";")]
        taken = records[segment.first_row : segment.first_row + segment.rows]
        columns = dict(zip(names, zip(*(record.split(";") for record in taken), strict=True), strict=True))
        table = {name: pa.array(columns[name]).cast(pa.type_for_alias(kind)) for name, kind in types.items()}
        return RawSegment(pa.table(table), np.arange(segment.rows), [])

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        lines = _lines(require_taken(segment, self.connection))[1:]
        return [lines[segment.first_row + row] for row in rows]


def _lines(path: SourceFile) -> list[str]:
    with open_source(path) as file:
        return file.read().decode().splitlines()
