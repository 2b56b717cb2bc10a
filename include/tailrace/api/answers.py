"""The answers of a query."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.api.rows import Rows


@dataclass(frozen=True, repr=False)
class Answers(Rows):
    """Answers of a query, one row each, in order of time; they convert to tables of other libraries.

    Beside the answer itself each row has: `tuples`, the number of tuples in the answer; `coverage`, their share of the
    tuples that have come for it so far; `k_ms`, the slack K (allowed lateness) with which it waited; `as_of`, the
    arrival time before which its tuples had arrived.

    >>> import tailrace
    >>> rows = tailrace.Stream({"at": ["2024-05-01T00:00:01Z"], "id": [7]}, event_time="at", id="id")
    >>> run = tailrace.query("aggregate", streams={"rows": rows}, window="5 s", aggregate={"function": "count"}).run()
    >>> run.results().columns
    ['key', 'window_start', 'window_end', 'value', 'tuples', 'coverage', 'k_ms', 'as_of']
    >>> run.results().duckdb().aggregate("sum(value)").fetchone()
    (1.0,)
    """
