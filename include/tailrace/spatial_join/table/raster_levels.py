"""Builds rasters level by level: cells near an edge are mixed; for each run of other cells, one point decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.ground.arrow.columns import Ints
from tailrace.spatial_join.geometry.geometries import Mask, Points
from tailrace.spatial_join.table.cells import BITS, RasterFrame
from tailrace.spatial_join.table.crossed_cells import CellBoxes, UnitEdges, boxes_of, crossed_cells, expand
from tailrace.spatial_join.table.edge_index import EXTERIOR, INTERIOR, EdgeIndex, Locations, PolygonEdges
from tailrace.spatial_join.table.frames import frames_of
from tailrace.spatial_join.table.raster import Contents, Raster

_MOST_BITS, _FEWEST_BITS = 8, 2
"""Bits along a side of the grids of one level; fewer are not worth a pass over the points."""

_LEAST_SHIFT = 4  # cells are at least 16 units wide, so that the margin around edges makes few of them mixed

_MIXED = 2  # a status beside INTERIOR and EXTERIOR


def most_cells(edges: int) -> int:
    """Return the most cells of a raster by its number of edges: proportional to the edges, plus at most 16 MB."""
    return min(max(256 * edges, 1 << 18), 1 << 22) + 16 * edges


@dataclass(frozen=True, eq=False)
class _Level:
    """The grids of one level that are not filled yet, and their tiles: pairs of a grid and a row with edges in it.

    Attributes
    ----------
    x, y : ndarray, shape (g,)
        The lowest corner of each grid in units.
    contents : ndarray, shape (g,)
        The list of the rows that cover the whole grid.
    grid, row : ndarray, shape (t,)
        The grid and the row of each tile.
    tile, edge : ndarray, shape (p,)
        The edges that cross each tile.
    """

    x: Ints
    y: Ints
    contents: Ints
    grid: Ints
    row: Ints
    tile: Ints
    edge: Ints


def rasters_of(index: EdgeIndex) -> list[Raster] | None:
    """Build the rasters of the polygons with indexed edges, one for each frame.

    Return None if doubles can't number the cells.
    """
    if not len(index.edges):
        return []
    parts, bounds = index.edges.envelopes(index.edges.part)
    groups = frames_of(bounds)
    if groups is None:
        return None
    of_part = np.empty(parts[-1] + 1, np.int64)
    for number, (_, members) in enumerate(groups):
        of_part[parts[members]] = number
    of_edge = of_part[index.edges.part]
    return [
        _Builder(index, index.edges.take(np.flatnonzero(of_edge == number)), frame).build()
        for number, (frame, _) in enumerate(groups)
    ]


class _Builder:
    """Builds the raster of a polygon's edges in a frame that its other edges do not come near."""

    def __init__(self, index: EdgeIndex, edges: PolygonEdges, frame: RasterFrame) -> None:
        self._index = index
        self._frame = frame
        self._row = edges.row
        self._edges = UnitEdges.from_edges(edges, frame)
        rows, bounds = edges.envelopes(edges.row)
        self._envelopes = np.zeros((len(index.shapes), 4))
        self._envelopes[rows] = np.column_stack([frame.units(side % 2, bounds[:, side]) for side in range(4)])
        self._contents = ContentsBuilder(len(index.shapes))
        self._cells_left = most_cells(len(edges))

    def build(self) -> Raster:
        rows, tile = np.unique(self._row, return_inverse=True)
        zero = np.zeros(1, np.int64)
        level = _Level(zero, zero, zero, np.zeros_like(rows), rows, tile, np.arange(len(tile)))
        shift, levels, grids = BITS, list[int](), list[Ints]()
        bits = self._bits(level, shift, fewest=0)
        while bits is not None:
            shift -= bits
            levels.append(bits)
            cells, level, mixed = self._fill(level, bits, shift)
            grids.append(cells)
            self._cells_left -= len(cells)
            bits = self._bits(level, shift, _FEWEST_BITS)
            if bits is not None:
                cells[mixed] = -1 - sum(map(len, grids)) - (np.arange(len(mixed)) << 2 * bits)
        return Raster(self._frame, tuple(levels), np.concatenate(grids).astype(np.int32), self._contents.contents())

    def _bits(self, level: _Level, shift: int, fewest: int) -> int | None:
        """Return the most bits for which the number of cells suffices, even if each row needs its own cells."""
        for bits in range(min(_MOST_BITS, shift - _LEAST_SHIFT), fewest - 1, -1):
            if bits == 0:
                return bits
            if len(level.x) << 2 * bits > self._cells_left:
                continue
            if self._boxes(level, bits, shift - bits).sizes.sum() <= self._cells_left:
                return bits
        return None

    def _boxes(self, level: _Level, bits: int, shift: int) -> CellBoxes:
        """Return the cells of each tile that the envelope of its row touches."""
        row = boxes_of(self._envelopes[level.row], 1 << shift)
        left, bottom = (corner[level.grid] >> shift for corner in (level.x, level.y))
        last = (1 << bits) - 1
        lows = np.maximum(row.left, left), np.maximum(row.bottom, bottom)
        return CellBoxes(*lows, np.minimum(row.right, left + last), np.minimum(row.top, bottom + last))

    def _fill(self, level: _Level, bits: int, shift: int) -> tuple[Ints, _Level, Ints]:
        """Return the contents of the cells of all grids, the level below, and the mixed cells.

        The level below has a grid for each mixed cell.
        """
        boxes = self._boxes(level, bits, shift)
        start = np.cumsum(boxes.sizes) - boxes.sizes
        which, column, line = crossed_cells(self._edges, level.edge, boxes.take(level.tile), 1 << shift)
        tile = level.tile[which]
        status = np.full(int(boxes.sizes.sum()), EXTERIOR, np.int8)
        status[start[tile] + (line - boxes.bottom[tile]) * boxes.widths[tile] + column - boxes.left[tile]] = _MIXED
        self._decide(status, level, boxes, start, shift)

        def cell_of(tile: Ints, column: Ints, line: Ints) -> Ints:
            grid = level.grid[tile]
            in_grid = ((line - (level.y[grid] >> shift)) << bits) + column - (level.x[grid] >> shift)
            return (grid << 2 * bits) + in_grid

        held = np.flatnonzero(status != EXTERIOR)
        held_tile, held_column, held_line = _places(held, boxes, start)
        cell, is_certain = cell_of(held_tile, held_column, held_line), status[held] == INTERIOR
        shared = np.repeat(level.contents, 1 << 2 * bits)
        contents, certain = self._contents.add(shared, cell, level.row[held_tile], is_certain)

        rows = len(self._index.shapes)
        tiles = np.sort(cell[~is_certain] * rows + level.row[held_tile[~is_certain]])
        mixed, grid = np.unique(tiles // rows, return_inverse=True)
        in_grid = mixed & ((1 << 2 * bits) - 1)
        x = level.x[mixed >> 2 * bits] + ((in_grid & ((1 << bits) - 1)) << shift)
        y = level.y[mixed >> 2 * bits] + ((in_grid >> bits) << shift)
        passed = np.searchsorted(tiles, cell_of(tile, column, line) * rows + level.row[tile])
        below = _Level(x, y, certain[mixed], grid, tiles % rows, passed, level.edge[which])
        return contents, below, mixed

    def _decide(self, status: Locations, level: _Level, boxes: CellBoxes, start: Ints, shift: int) -> None:
        """Set the status of cells that no edge approaches; along a line it is the same up to the next mixed cell.

        The centre of the first cell decides. If it is rounded out of its cell, the cells become mixed, too.
        """
        free = status != _MIXED
        begins = free.copy()
        begins[1:] &= ~free[:-1]
        tile, line = expand(np.zeros_like(start), boxes.top - boxes.bottom + 1)
        line_start = start[tile] + line * boxes.widths[tile]
        begins[line_start] = free[line_start]
        first = np.flatnonzero(begins)
        tile, column, line = _places(first, boxes, start)
        x = self._frame.coordinates(0, np.asarray((column + 0.5) * (1 << shift)))
        y = self._frame.coordinates(1, np.asarray((line + 0.5) * (1 << shift)))
        located = self._index.locate(Points(x, y), level.row[tile])
        astray = (self._frame.numbers(0, x) >> shift != column) | (self._frame.numbers(1, y) >> shift != line)
        located[astray | (np.abs(located) != 1)] = _MIXED
        status[free] = located[np.cumsum(begins)[free] - 1]


def _places(cells: Ints, boxes: CellBoxes, start: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the tile, column and line of cells that are numbered tile by tile, line by line."""
    tile = np.repeat(np.arange(len(start)), boxes.sizes)[cells]
    line, column = np.divmod(cells - start[tile], boxes.widths[tile])
    return tile, column + boxes.left[tile], line + boxes.bottom[tile]


class ContentsBuilder:
    """Lists of rows, each identified by its first entry; 0 is the empty list.

    Parameters
    ----------
    rows : int
        The number of rows of the table.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._entries: dict[int, int] = {}

    def add(self, lists: Ints, cell: Ints, row: Ints, is_certain: Mask) -> tuple[Ints, Ints]:
        """Prepend rows to the lists of cells: first the certain ones, then the others, each in ascending order.

        Parameters
        ----------
        lists : ndarray, shape (c,)
            The list of each cell so far.
        cell, row, is_certain : ndarray, shape (n,)
            The rows to prepend; no pair of a cell and a row twice.

        Returns
        -------
        lists : ndarray, shape (c,)
            The lists with all rows.
        certain : ndarray, shape (c,)
            The lists with the certain rows only.
        """
        lists, certain = lists.copy(), lists.copy()
        codes = 2 * self._rows
        key = np.sort(cell * codes + np.where(is_certain, row, row + self._rows))
        cell, code = np.divmod(key, codes)
        first = np.flatnonzero(np.diff(cell, prepend=-1))
        count = np.diff(first, append=len(cell))
        while len(first):
            at = cell[first]
            lists[at] = self._extended(lists[at], code[first])
            whole = code[first] < self._rows
            certain[at[whole]] = lists[at[whole]]
            more = count > 1
            first, count = first[more] + 1, count[more] - 1
        return lists, certain

    def _extended(self, lists: Ints, code: Ints) -> Ints:
        """Return the lists with the coded row prepended to each."""
        distinct, which = _distinct(lists * (2 * self._rows) + code)
        known = [self._entries.setdefault(key, len(self._entries) + 1) for key in distinct.tolist()]
        return np.array(known, np.int64)[which]

    def contents(self) -> Contents:
        """Return all lists."""
        rest, code = np.divmod(np.array([0, *self._entries], np.int64), 2 * self._rows)
        return Contents(code % self._rows, code < self._rows, rest.astype(np.int32))


def _distinct(values: Ints) -> tuple[Ints, Ints]:
    """Return the distinct values, and each value's index among them.

    A lookup table, if small, is cheaper than sorting.
    """
    if values.max(initial=0) > 4 * len(values) + 1024:
        distinct, which = np.unique(values, return_inverse=True)
        return distinct, which
    index_of = np.zeros(values.max(initial=0) + 1, np.int64)
    index_of[values] = 1
    distinct = np.flatnonzero(index_of)
    index_of[distinct] = np.arange(len(distinct))
    return distinct, index_of[values]
