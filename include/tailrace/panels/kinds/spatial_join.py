"""The panel `kind` of a spatial join: a map of the found pairs by cell, or the dimension table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.arrow.columns import Floats
from tailrace.panels.arrival_range import NOTHING_YET
from tailrace.panels.kinds.calibration import newest_calibration
from tailrace.panels.kinds.request import KindAnswer, KindRequest
from tailrace.panels.kinds.task_loads import TaskLoads, task_loads
from tailrace.panels.panel import Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.panels.stamped_facts import StampedFact, newest_facts
from tailrace.partition.grid import Grid
from tailrace.query.joins import SpatialJoinQuery
from tailrace.spatial_join.section import SpatialJoinSection
from tailrace.storage.tables import Tables, within

MOST_CELLS, MOST_VERSIONS = 2000, 100
"""The largest numbers of shown cells (the most loaded) and versions of the table (the newest)."""

AT_ONCE = 4096  # rows of `metrics` at once; each has up to one number for each cell
_INT, _REAL = pa.int64(), pa.float64()
_COLUMNS = {"batch": _INT, "task": _INT, "committed": _INT, "load": _REAL}
_ROWS = re.compile(r"([\d,]+) rows?(?:, and [\d,]+ skipped|\Z)")


class Cell(Shown):
    """A cell of the grid by its column and row, from 0 on, and the number of near pairs that were found in it.

    Pairs are counted before `where`, including those that came too late.
    """

    x: int
    y: int
    load: float


class DimensionTableVersion(Shown):
    """A version of the dimension table.

    Attributes
    ----------
    at : int or None
        The arrival time (ms) from which tuples were joined with it; null for the stream's beginning.
    rows : int or None
        Its number of rows, without skipped ones; null if the evidence lacks it.
    """

    version: int
    at: int | None
    from_segment: int | None
    rows: int | None
    evidence: str


class DimensionTableFile(Shown):
    """The file of the dimension table, and its versions, oldest first."""

    path: str
    versions: list[DimensionTableVersion]


class SpatialJoinAnswer(KindAnswer):
    """A spatial join: of two streams, the work in a range of arrival; of a stream and a table, the table's versions.

    Attributes
    ----------
    grid : int or None
        The cells along each side of the extent; null if tuples are not spread by cells.
    extent : tuple of float or None
        minx, miny, maxx, maxy of the grid; points outside belong to the nearest cell.
    cells : list of Cell or None
        The most loaded ones. A pair's cell is the cell of its right point or, for other geometries, of the lower left
        corner of the envelopes' intersection.
    cells_total : int
        The number of cells with pairs.
    loads : TaskLoads or None
        The number of pairs by task over time.
    """

    kind: Literal["spatial_join"] = "spatial_join"
    join: Literal["table", "window", "interval"]
    grid: int | None = None
    extent: tuple[float, float, float, float] | None = None
    cells: list[Cell] | None = None
    cells_total: int = 0
    loads: TaskLoads | None = None
    table: DimensionTableFile | None = None


def read(view: QueryView, request: KindRequest) -> SpatialJoinAnswer:
    """Read the map of the requested range of arrival, or the versions of the dimension table."""
    query = view.query
    assert isinstance(query, SpatialJoinQuery)
    section = query.spatial_join
    if section.table is not None:
        return _of_table(view, section)
    pieces = Pieces()
    if (grid := section.cells) is None:
        note = "its tuples are not spread by cells: each left one is joined with all right ones in one task"
        calibration = newest_calibration(view, pieces)
        return SpatialJoinAnswer(join=section.join, calibration=calibration, note=note, damaged=pieces.damaged)
    ends = request.ends(view.tables)
    load, rows = np.zeros(grid.numbers), [pa.schema(_COLUMNS.items()).empty_table()]
    for part in _parts(view.tables, ends):
        load += _by_cell(part["loads"], grid)
        rows.append(_with_load(part).select([*_COLUMNS]))
    cells, total = _cells(load, grid)
    measured = pa.concat_tables(rows)
    tasks = pc.max(measured["task"]).as_py()
    return SpatialJoinAnswer(
        join=section.join,
        from_=None if ends is None else ends[0],
        to=None if ends is None else ends[1],
        grid=grid.n,
        extent=grid.extent,
        cells=cells,
        cells_total=total,
        loads=task_loads(measured),
        calibration=newest_calibration(view, pieces),
        note=_note(ends, query.tasks if tasks is None else tasks + 1, total),
        damaged=pieces.damaged,
    )


def _parts(tables: Tables, ends: tuple[int, int] | None) -> Iterator[pa.Table]:
    """Yield rows of `metrics` in a range of arrival, some at a time, as the cells of all rows need much memory."""
    if ends is None:
        return
    columns = ["batch", "task", "committed", "loads"]
    yield from tables.batches("metrics", columns, within("committed", *ends), AT_ONCE)


def _by_cell(loads: pa.ChunkedArray, grid: Grid) -> Floats:
    """Return the load of each cell of the grid."""
    load = np.zeros(grid.numbers)
    for chunk in loads.chunks:
        cell, of_cell = (np.asarray(pc.list_flatten(_lists(chunk, name)), float) for name in ("cell", "load"))
        load += np.bincount(cell.astype(np.int64), of_cell, grid.numbers)
    return load


def _cells(load: Floats, grid: Grid) -> tuple[list[Cell], int]:
    """Return the most loaded cells, by position, and the number of all cells with load."""
    total = int((load > 0).sum())
    most = np.sort(np.argsort(-load, kind="stable")[: min(total, MOST_CELLS)])
    x, y = grid.places(most)
    places = zip(x.tolist(), y.tolist(), load[most].tolist(), strict=True)
    return [Cell(x=column, y=row, load=each) for column, row, each in places], total


def _lists(loads: pa.MapArray, name: str) -> pa.ListArray:
    """Return the list of each row under a name; null where it has none."""
    return pc.map_lookup(loads, pa.scalar(name), "first")


def _with_load(rows: pa.Table) -> pa.Table:
    """Add the load of each row, summed over its cells; for tasks without pairs the table has another measure."""
    sums = [np.zeros(0)]
    for chunk in rows["loads"].chunks:
        lists = _lists(chunk, "load")
        row, load = pc.list_parent_indices(lists), pc.list_flatten(lists)
        sums.append(np.bincount(np.asarray(row), np.asarray(load, float), len(chunk)).astype(float))
    return rows.append_column("load", pa.array(np.concatenate(sums)))


def _of_table(view: QueryView, section: SpatialJoinSection) -> SpatialJoinAnswer:
    assert section.table is not None
    facts, total = newest_facts(view.tables, "table", 0, MOST_VERSIONS)
    path = str(section.table.place)
    note = f"the newest {len(facts)} of {total:,} versions" if len(facts) < total else None
    return SpatialJoinAnswer(
        join=section.join,
        table=DimensionTableFile(path=path, versions=_versions(facts, path)),
        note=note if facts else "the stream has read no version of its table yet",
    )


def _versions(facts: Sequence[StampedFact], path: str) -> list[DimensionTableVersion]:
    """Return the versions of a table; the evidence has their numbers of rows after the table's path."""
    versions = []
    for fact in facts:
        said = _ROWS.match(fact.evidence.removeprefix(f"{path}: "))
        rows = None if said is None else int(said[1].replace(",", ""))
        named = fact.model_dump(include={"version", "at", "from_segment", "evidence"})
        versions.append(DimensionTableVersion(rows=rows, **named))
    return versions


def _note(ends: tuple[int, int] | None, tasks: int, cells: int) -> str | None:
    if ends is None:
        return NOTHING_YET
    if tasks == 1:
        return "it has one task, which measures no load by cell"
    if not cells:
        return "no pair was found in this range of arrival"
    return f"the {MOST_CELLS:,} most loaded of {cells:,} cells" if cells > MOST_CELLS else None
