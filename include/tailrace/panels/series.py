"""Series over time with few enough points for a chart: the rows of a time bucket become one point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS

POINTS = 600
"""The largest number of points of a series, about as many as a chart has pixels."""

How = Literal["sum", "min", "max", "mean", "first", "last"]
"""How the rows of a bucket make the value of a point; `min` or `max` where that is the worst value."""


def downsample(rows: pa.Table, at: str, columns: Mapping[str, How], points: int = POINTS) -> dict[str, list[Any]]:
    """Return the rows as a series: the list `at`, strictly ascending, and a list of equal length for each column.

    Rows of equal time become one point. If that gives more than `points`, the rows of a bucket become one point, at the
    last time among them. Unknown values (null, NaN, infinity) are ignored, and a point without others is None. A `min`
    or `max` is also None if a value is infinite.

    Parameters
    ----------
    rows : Table
        In any order. To aggregate a column in two ways, append it a second time.
    at : str
        The column of the times, int64 ms. Rows without one are left out.
    columns : mapping
        The value of a point from its rows, by the column's name. `first` and `last` follow time, then the order of the
        rows.
    points : int
        The largest number of points, 2 or more.
    """
    limitless = {name: pc.is_inf(rows[name]) for name, how in columns.items() if _can_be_limitless(rows[name], how)}
    known = pa.table(
        {"at": rows[at].cast(pa.int64())}
        | {f"of_{name}": _known(rows[name]) for name in columns}
        | {f"limitless_{name}": each for name, each in limitless.items()}
    )
    known = known.filter(pc.is_valid(known["at"]))
    known = known.take(pc.sort_indices(known["at"]))  # stable, to keep the order of rows of equal time
    times = known["at"]
    if pc.count_distinct(times).as_py() > points:
        low, high = times[0].as_py(), times[-1].as_py()
        times = pc.divide(times, _width(high - low, points))
    known = known.append_column("bucket", times)
    wanted: list[tuple[str, str]] = [("at", "max"), *((f"of_{name}", how) for name, how in columns.items())]
    wanted += [(f"limitless_{name}", "any") for name in limitless]
    grouped = known.group_by("bucket", use_threads=False).aggregate(wanted).sort_by("bucket")
    named = {name: grouped[f"of_{name}_{how}"].to_pylist() for name, how in columns.items()}
    for name in limitless:
        is_limitless = grouped[f"limitless_{name}_any"].to_pylist()
        named[name] = [None if is_ else value for value, is_ in zip(named[name], is_limitless, strict=True)]
    return {"at": grouped["at_max"].to_pylist()} | named


def within_limits(times: Any) -> Any:
    """Return a column of times (ms) with sentinels before and after all time replaced by null.

    Tables contain `EARLIEST_MS` before the first frontier.
    """
    printable = pc.and_(pc.greater(times, EARLIEST_MS), pc.less_equal(times, LATEST_MS))
    return pc.if_else(printable, times, pa.scalar(None, times.type))


def _width(span: int, points: int) -> int:
    """Return the length of buckets (ms): 1, 2 or 5 times a power of 10, so that buckets are stable as a chart advances.

    Buckets begin at multiples of it, so a span touches at most ⌈span / length⌉ + 1.
    """
    least = -(-span // (points - 1))
    power = 1
    while True:
        for length in (power, 2 * power, 5 * power):
            if length >= least:
                return length
        power *= 10


def _can_be_limitless(values: Any, how: How) -> bool:
    """Test whether values include an infinite one, and their extreme is wanted."""
    is_extreme = how in ("min", "max") and pa.types.is_floating(values.type)
    return bool(is_extreme and pc.any(pc.is_inf(values)).as_py())


def _known(values: Any) -> Any:
    """Return a column with values that are not finite numbers replaced by null."""
    if not pa.types.is_floating(values.type):
        return values
    return pc.if_else(pc.is_finite(values), values, pa.scalar(None, values.type))
