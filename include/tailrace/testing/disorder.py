"""Makes rows come late, or twice, by a seed: the disorder of a stream."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.api.in_memory import as_table, with_times
from tailrace.ground.duration import ms, parse_duration
from tailrace.ground.errors import refuse

_TIME = pa.timestamp("ms", "UTC")


def late(
    rows: Any,
    event_time: str = "event_time",
    arrival_time: str = "arrival_time",
    share: float = 0.1,
    delay: str | timedelta = "10 s",
    latency: str | timedelta = "0 ms",
    seed: int = 0,
) -> pa.Table:
    """Return rows in order of arrival, some of them late, with a column of arrival times.

    Each row arrives `latency` after its event time, and a share of them up to `delay` later than that. The same seed
    gives the same times.

    Parameters
    ----------
    rows : table
        As for `tailrace.Stream`.

    >>> late([{"event_time": 1000 * n} for n in range(4)], share=0.5, delay="5 s", seed=3)["event_time"].to_pylist()
    [0, 1000, 2000, 3000]
    """
    _require_share(share)
    table = _with_times(rows, event_time)
    draws = np.random.default_rng(seed)
    is_late = draws.random(table.num_rows) < share
    delays = draws.integers(1, max(ms(parse_duration(delay)), 1), table.num_rows, endpoint=True)
    arrival = _ms(table[event_time]) + ms(parse_duration(latency)) + np.where(is_late, delays, 0)
    return _arriving(table, arrival_time, arrival)


def repeated(
    rows: Any,
    arrival_time: str = "arrival_time",
    share: float = 0.1,
    delay: str | timedelta = "10 s",
    seed: int = 0,
) -> pa.Table:
    """Return rows in order of arrival; a share of them comes again up to `delay` later, with the same ids."""
    _require_share(share)
    table = _with_times(rows, arrival_time)
    draws = np.random.default_rng(seed)
    again = np.flatnonzero(draws.random(table.num_rows) < share)
    delays = draws.integers(1, max(ms(parse_duration(delay)), 1), len(again), endpoint=True)
    arrival = _ms(table[arrival_time])
    both = pa.concat_tables([table, table.take(pa.array(again))])
    return _arriving(both, arrival_time, np.concatenate([arrival, arrival[again] + delays]))


def _require_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise refuse(f"share {share}", "it is no share of the rows", "from 0 to 1, such as 0.1 for a tenth of them")


def _with_times(rows: Any, name: str) -> pa.Table:
    """Return rows as a table in which the named column has times; refuse rows without this column."""
    table = as_table(rows)
    if name not in table.column_names:
        raise refuse("rows", f"there is no column {name}", f"one of {', '.join(table.column_names)}")
    return with_times(table, [name])


def _ms(times: pa.ChunkedArray) -> Any:
    """Return times as integer milliseconds, shape (n,)."""
    values = times if pa.types.is_integer(times.type) else times.cast(pa.timestamp("ms"), safe=False)
    return values.cast(pa.int64()).to_numpy()


def _arriving(table: pa.Table, name: str, arrival_ms: Any) -> pa.Table:
    """Return rows in order of these arrival times, with the times in a column."""
    order = np.argsort(arrival_ms, kind="stable")
    times = pa.array(arrival_ms[order]).cast(_TIME)
    ordered, index = table.take(pa.array(order)), table.schema.get_field_index(name)
    return ordered.append_column(name, times) if index < 0 else ordered.set_column(index, name, times)
