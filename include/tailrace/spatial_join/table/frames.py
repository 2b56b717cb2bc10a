"""The frames of a table's rasters: one around all polygons, or several if most of one would be empty."""

from __future__ import annotations

import numpy as np

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.spatial_join.geometry.geometries import Mask
from tailrace.spatial_join.table.cells import RasterFrame

_MOST_FRAMES = 4
"""The most frames; each costs another look at every point."""

_LEAST_SHARE = 2.0**-16
"""Polygons that span a smaller part of a frame's side get their own frame: they would span less than 2**14 units."""

_LEAST_GAP = 1 / 16
"""The least gap between frames, as part of a frame's side: more than the borders of both frames."""


def frames_of(bounds: Floats) -> list[tuple[RasterFrame, Ints]] | None:
    """Return frames around polygons, and the polygons in each; no polygon comes near another frame.

    Parameters
    ----------
    bounds : ndarray, shape (p, 4)
        The envelopes of the polygons: minx, miny, maxx, maxy. At least one.

    Returns
    -------
    list or None
        None where doubles can't number the cells of a frame.
    """
    groups = [np.arange(len(bounds))]
    while len(groups) < _MOST_FRAMES:
        cuts = [_cut(bounds[group]) for group in groups]
        at = min(range(len(groups)), key=lambda number: cuts[number][0])
        share, is_below = cuts[at]
        if share >= _LEAST_SHARE:
            break
        groups += [groups[at][is_below], groups[at][~is_below]]
        del groups[at]
    frames = [
        RasterFrame.around(np.concatenate([bounds[g, :2].min(axis=0), bounds[g, 2:].max(axis=0)])) for g in groups
    ]
    framed = [(frame, group) for frame, group in zip(frames, groups, strict=True) if frame is not None]
    return framed if len(framed) == len(groups) else None


def _cut(bounds: Floats) -> tuple[float, Mask]:
    """Cut envelopes at the widest gap, along x or y; return the smaller side's part of the extent, and one side.

    Of the cuts along x and y, take the one with the smaller side; without a wide enough gap, the part is 1.
    """
    best = (1.0, np.ones(len(bounds), bool))
    bounds = bounds / 4  # so that no difference overflows
    for axis in (0, 1):
        low, high = bounds[:, axis], bounds[:, axis + 2]
        order = np.argsort(low)
        reach = np.maximum.accumulate(high[order])
        gaps = low[order][1:] - reach[:-1]
        extent = reach[-1] - low[order[0]]
        if gaps.max(initial=0) > _LEAST_GAP * extent:
            at = int(gaps.argmax())
            below, above = reach[at] - low[order[0]], reach[-1] - low[order[at + 1]]
            share = float(min(below, above) / extent)
            best = min(best, (share, low <= low[order[at]]), key=lambda cut: cut[0])
    return best
