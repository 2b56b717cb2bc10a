"""The answers to a drawn query: streamed, by the plain oracle; corrected, by one statement of DuckDB.

No code of the package computes them, and the two share none but the columns' own lines (`drawn_columns.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest

from kit.draws.drawn_columns import FAULT, SOURCE, Failed, Record, scaled
from kit.draws.drawn_queries import BOOLEANS, DISTINCT, JOINT, LISTS, NUMBERS, Aggregate, Drawn
from kit.draws.streams import DAY, EARLIEST
from kit.oracles import oracle, session_oracle
from kit.oracles.named_oracle import of_numbers, of_pairs
from kit.oracles.session_oracle import Came
from tailrace.query.query import Query
from tailrace.storage.results import read_answers

BEFORE = -(10**18)
GHOST = "a record that is left out"


class Item(NamedTuple):
    """A tuple's record, and what orders it among others."""

    record: Record
    order: tuple[int, int, str]


class Kept(NamedTuple):
    """What became of the records: tuples, with ghosts in the places of filtered ones, and how many are none."""

    tuples: list[oracle.Tuple]
    filtered: int
    quarantined: int


@dataclass(frozen=True)
class CalendarSettings(oracle.Settings):
    """Settings whose windows are those of a time zone's calendar."""

    unit: str = "day"

    def windows_of(self, event_time: int) -> list[tuple[int, int]]:
        assert self.days_of is not None
        day = datetime.fromtimestamp(event_time // 1000, ZoneInfo(self.days_of)).date()
        return [tuple(_midnight(each, self.days_of) for each in _unit(day, self.unit))]  # type: ignore[list-item]


def _unit(day: date, unit: str) -> tuple[date, date]:
    """The first day of what holds a day, and of what follows."""
    if unit == "year":
        return date(day.year, 1, 1), date(day.year + 1, 1, 1)
    if unit == "quarter":
        first = date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
        return first, (first + timedelta(days=100)).replace(day=1)
    if unit == "month":
        first = day.replace(day=1)
        return first, (first + timedelta(days=31)).replace(day=1)
    first = day - timedelta(days=day.weekday() if unit == "week" else 0)
    return first, first + timedelta(days=7 if unit == "week" else 1)


@cache
def _midnight(day: date, zone: str) -> int:
    return oracle.midnight(day, zone)


def evaluated(query: Drawn, row: dict[str, Any]) -> tuple[Record, set[str]]:
    """A record with the derived columns, and those that could not be computed."""
    record, failed = Record(row), set()
    for each in query.derived:
        try:
            record[each.name] = each.value(record)
        except Failed:
            record[each.name] = FAULT
            failed.add(each.name)
    return record, failed


def kept(query: Drawn, rows: list[dict[str, Any]]) -> Kept:
    """Sort records by what becomes of them."""
    tuples: list[oracle.Tuple] = []
    filtered = quarantined = 0
    for row in rows:
        record, failed = evaluated(query, row)
        at, came = row["ts"], row["came"]
        has_times = at is not None and came is not None and EARLIEST <= at <= came + DAY
        try:
            stays = True if query.where is None else query.where.value(record) is True
        except Failed:
            quarantined += 1
            continue
        if not stays:
            filtered += 1
            if has_times:
                tuples.append(oracle.Tuple(at, came, f"ghost {len(tuples)}", GHOST, None))  # type: ignore[arg-type]
            continue
        if not has_times or failed & query.needed or not _is_whole(query, record):
            quarantined += 1
            continue
        key = tuple(record[name] for name in query.keys)
        tuples.append(oracle.Tuple(at, came, row["id"], key, Item(record, (at, came, row["id"]))))  # type: ignore[arg-type]
    return Kept(tuples, filtered, quarantined)


def _is_whole(query: Drawn, record: Record) -> bool:
    if record["id"] is None or (not query.groups_nulls and any(record[name] is None for name in query.keys)):
        return False
    for each in query.aggregates.values():
        values = [record[name] for name in each.columns]
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            return False
        if each.where is not None:
            try:
                each.where.value(record)
            except Failed:
                return False
    return True


def settings_of(query: Drawn) -> oracle.Settings:
    """The settings of the oracle, whose function is the query's aggregates."""
    own = {each.name: getattr(query.settings, each.name) for each in fields(oracle.Settings)}
    own |= {"function": query, "q": None}
    return oracle.Settings(**own) if query.unit is None else CalendarSettings(**own, unit=query.unit)


@contextmanager
def answering() -> Iterator[None]:
    """The oracle answers all aggregates of a query at once."""

    def aggregate(query: Any, values: Sequence[Any], q: float | None = None) -> oracle.Truth:
        items = [each for each in values if each is not None]  # ghosts have none, and their answers are not looked at
        return oracle.Truth(answers(query, items), len(values), 0.0)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oracle, "aggregate", aggregate)
        yield


def answers(query: Drawn, items: list[Item]) -> dict[str, Any]:
    """The answers over the tuples of a window, and by name with `~` the magnitude of what was summed."""
    found: dict[str, Any] = {"tuples": len(items)}
    for name, each in query.aggregates.items():
        there = [item for item in items if each.where is None or each.where.value(item.record) is True]
        for decides in each.columns if each.function in JOINT else (each.second or each.column,):
            there = [item for item in there if decides is None or item.record[decides] is not None]
        values = [item if each.column is None else item.record[each.column] for item in there]
        dtype = None if each.column is None else query.types[each.column]
        found[name] = _answer(each, dtype, values, there)
        found[f"{name}~"] = _size(values)
        if each.function in JOINT:
            found[f"{name}~"] *= _size([item.record[each.second] for item in there])
    for name, expression in query.expressions.items():
        found[name] = expression.value(found)
    return found


class Streamed(NamedTuple):
    """An answer of the stream, and what stands beside it."""

    value: dict[str, Any]
    as_of: int
    k_ms: int


def streamed(query: Drawn, tuples: list[oracle.Tuple]) -> dict[tuple[Any, ...], Streamed]:
    """The answers of the stream, which is flushed in the end, by key and window."""
    settings = settings_of(query)
    with answering():
        outcome = oracle.stream(tuples, settings)
    found = {window: Streamed(each.value, each.as_of, each.k_ms) for window, each in outcome.answers.items()}  # type: ignore[arg-type]
    if query.are_sessions and tuples:
        ticks = {each.tick: each for each in outcome.trace}
        last = outcome.trace[-1]
        flushed = max(last.frontier, max(each.event_time for each in tuples) + settings.size)
        frontiers = [*((tick, each.frontier) for tick, each in ticks.items()), (-1, flushed)]
        numbers = [number for number, _ in oracle.ticks_of(tuples, settings.tick)]
        came = [Came(t.key, t.event_time, tick, t.value) for t, tick in zip(tuples, numbers, strict=True)]
        closed = session_oracle.stream(came, settings.size, frontiers, BEFORE)
        found = {}
        for session, held, tick in closed.answers:
            of = ticks.get(tick, last)
            found[session] = Streamed(_of_session(query, held), of.end, of.k_ms)
    return _given(query, found)


def over_all(query: Drawn, rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The `answers` over all records, by key and window."""
    tuples, *_ = kept(query, rows)
    settings = settings_of(query)
    with answering():
        truth = oracle.batch(tuples, settings)
    found = {window: Streamed(each.value, 0, 0) for window, each in truth.items()}  # type: ignore[arg-type]
    if query.are_sessions:
        came = [Came(each.key, each.event_time, 0, each.value) for each in oracle.distinct(tuples, settings.tick)]
        held = session_oracle.sessions_of(came, settings.size)
        found = {session: Streamed(_of_session(query, those), 0, 0) for session, those in held.items()}
    return {window: each.value for window, each in _given(query, found).items()}


def _of_session(query: Drawn, held: list[Came]) -> dict[str, Any]:
    return answers(query, [each.value for each in held if each.key != GHOST])  # type: ignore[misc]


def _given(query: Drawn, found: dict[Any, Streamed]) -> dict[tuple[Any, ...], Streamed]:
    """The answers of keys that are given."""
    return {(*key, *window): each for (key, *window), each in found.items() if key != GHOST and query.gives(each.value)}


def _answer(each: Aggregate, dtype: pa.DataType | None, values: list[Any], there: list[Item]) -> Any:  # noqa: PLR0911  a function, a return
    if each.function == "count":
        return len(values)
    if each.function == "count_distinct":
        return len(set(values))

    def in_order(item: Item) -> tuple[Any, ...]:
        value = item.record[each.column]  # of records with one id and the same times the least value is first
        return (item.order, value is not None, value)

    if each.function in LISTS:
        ordered = [item.record[each.column] for item in sorted(there, key=in_order)]
        listed = ordered if each.function == "collect_list" else sorted({*values})
        return listed if len(listed) <= int(str(each.q)) else None
    if not values:
        return None
    if each.function == "quantile_disc":
        return sorted(values)[math.ceil(Fraction(each.q) * len(values)) - 1]
    if each.function in JOINT:
        return of_pairs(each.function, [tuple(item.record[name] for name in each.columns) for item in there])
    if each.function in DISTINCT:
        return _answer(replace(each, function=each.function.removesuffix("_distinct")), dtype, [*{*values}], there)
    if each.second is not None:
        choose = min if each.function == "min_by" else max
        return choose(there, key=lambda item: (item.record[each.second], *in_order(item))).record[each.column]
    if each.function in ("first", "last", "any_value"):
        chosen = (max if each.function == "last" else min)(there, key=in_order)
        return chosen.record[each.column]
    if each.function in BOOLEANS:
        return (all if each.function == "bool_and" else any)(values)
    if each.function in ("min", "max"):
        return (min if each.function == "min" else max)(values)
    if each.function == "sum":
        return _sum(dtype, values)
    return of_numbers(each.function, None if each.q is None else float(each.q), sorted(map(Fraction, values)))


def _size(values: list[Any]) -> float:
    return math.fsum(abs(float(value)) for value in values if isinstance(value, int | float | Decimal))


def _sum(dtype: pa.DataType, values: list[Any]) -> Any:
    if pa.types.is_floating(dtype):
        return math.fsum(values)
    whole = sum(map(Fraction, values))
    if pa.types.is_decimal(dtype):
        return scaled(int(whole * 10**dtype.scale), dtype.scale)
    return int(whole) if -(2**63) <= whole < 2**63 else None


def statement(query: Drawn, table: str = "records") -> str:
    """The SQL statement that answers the query over all records at once; `position` numbers these."""
    columns = ", ".join(f'false AS "{name}?"' for name in SOURCE)
    steps = [f"(SELECT *, {columns} FROM {table})"]
    for each in query.derived:
        own = [f"({each.fault})"]
        inputs = " OR ".join(f'"{name}?"' for name in each.reads)
        own.append(f"({inputs})" if each.lazy is None else f"(({each.lazy}) AND ({inputs}))")
        hidden = f'EXCLUDE ("{each.name}", "{each.name}?"), ' if each.name in SOURCE else ", "
        step = f'SELECT * {hidden}{each.sql} AS "{each.name}", coalesce({" OR ".join(own)}, false) AS "{each.name}?"'
        steps.append(f"({step} FROM {steps[-1]})")
    where, fault = ("true", "false") if query.where is None else (query.where.sql, query.where.fault)
    is_bad = [f'"{name}?"' for name in query.needed]
    is_bad += [f'"{name}" IS NULL' for name in ("id", *(() if query.groups_nulls else query.keys))]
    for each_ in query.aggregates.values():
        floats = [name for name in each_.columns if pa.types.is_floating(query.types[name])]
        is_bad += [f'coalesce(NOT isfinite("{name}"), false)' for name in floats]
        if each_.where is not None:
            is_bad.append(each_.where.fault)
    tick = "position" if query.settings.tick == 0 else f"max(came) OVER (ORDER BY position) // {query.settings.tick}"
    groups = [*(f'"{name}"' for name in query.keys), "window_start", "window_end"]
    calls = [f"{_call(each, query)} AS {name}" for name, each in query.aggregates.items()]
    levels = f"(SELECT {', '.join([*groups, *calls, 'count(*) AS tuples'])} FROM windowed GROUP BY {', '.join(groups)})"
    for name, expression in query.expressions.items():
        levels = f"(SELECT *, {expression.sql} AS {name} FROM {levels})"
    if query.having is not None:
        levels = f"(SELECT * FROM {levels} WHERE {query.having.sql})"
    return f"""
        WITH derived AS {steps[-1]},
        checked AS (SELECT *, ({where}) AS stays, ({fault}) AS fails, ({" OR ".join(is_bad)}) AS is_bad FROM derived),
        sound AS (
            SELECT *, {tick} AS tick FROM checked
            WHERE ts BETWEEN {EARLIEST} AND came + {DAY} AND NOT fails AND (stays IS NOT TRUE OR NOT is_bad)
        ),
        tuples AS (
            SELECT * FROM sound WHERE stays
            QUALIFY row_number() OVER (PARTITION BY id ORDER BY tick, came, position) = 1
        ),
        windowed AS ({_windowed(query)})
        SELECT * FROM {levels} ORDER BY ALL
    """


def _windowed(query: Drawn) -> str:
    own = query.settings
    if query.are_sessions:
        keys = ", ".join(f'"{name}"' for name in query.keys)
        part = f"PARTITION BY {keys}" if keys else ""
        late = f"coalesce(ts - lag(ts) OVER ({part} ORDER BY ts) > {own.size}, true)"
        begun = f"SELECT *, {late} AS begins FROM tuples"
        run = f"count(*) FILTER (begins) OVER ({part} ORDER BY ts ROWS UNBOUNDED PRECEDING)"
        of_run = f"PARTITION BY {keys}, run" if keys else "PARTITION BY run"
        ends = f"min(ts) OVER ({of_run}) AS window_start, max(ts) OVER ({of_run}) + {own.size} AS window_end"
        return f"SELECT *, {ends} FROM (SELECT *, {run} AS run FROM ({begun}))"
    if query.unit is None:
        most = -(-own.size // own.slide)
        start = f"(ts - {own.offset}) // {own.slide} * {own.slide} + {own.offset} - number * {own.slide}"
        spread = f"SELECT *, {start} AS window_start FROM tuples, range({most}) AS numbers(number)"
        return f"SELECT *, window_start + {own.size} AS window_end FROM ({spread}) WHERE ts < window_start + {own.size}"
    zone = f"AT TIME ZONE '{own.days_of}'"
    first = f"CAST(date_trunc('{query.unit}', make_timestamptz(ts * 1000) {zone}) AS TIMESTAMP)"
    starts, ends = (_first_instant(name, zone) for name in ("first", "next"))
    days = f"SELECT *, {first} AS first, first + INTERVAL 1 {query.unit} AS next FROM tuples"
    return f"SELECT *, {starts} AS window_start, {ends} AS window_end FROM ({days})"


def _first_instant(local: str, zone: str) -> str:
    """The epoch time of a local time: of two, an hour apart, the first, where DuckDB takes the last."""
    instant = f"({local} {zone})"
    earlier = f"({instant} - INTERVAL 1 HOUR)"
    return f"epoch_ms(CASE WHEN {earlier} {zone} >= {local} THEN {earlier} ELSE {instant} END)"


def _call(each: Aggregate, query: Drawn) -> str:  # noqa: PLR0911  a function, a return
    where = "true" if each.where is None else f"coalesce({each.where.sql}, false)"
    if each.column is None:
        return f"count(*) FILTER (WHERE {where})"
    value, dtype = f'"{each.column}"', query.types[each.column]
    chosen = f"FILTER (WHERE {where} AND {value} IS NOT NULL)"
    real = f"CAST({value} AS DOUBLE)"
    function, distinct = (
        each.function.removesuffix("_distinct"),
        "DISTINCT " if each.function.endswith("_distinct") else "",
    )
    match function:
        case "count":
            return f"count({distinct}{value}) {chosen}"
        case "first" | "last" | "any_value":
            function, order = ("arg_max" if each.function == "last" else "arg_min"), "row(ts, came, id)"
            return f"{function}({value}, {order}) {chosen}"
        case "min_by" | "max_by":
            function, by = each.function.replace("_by", "").join(("arg_", "_null")), f'"{each.second}"'
            chosen = f"FILTER (WHERE {where} AND {by} IS NOT NULL)"
            return f"{function}({value}, row({by}, ts, came, id)) {chosen}"
        case "quantile" | "median":
            return f"quantile_cont({real}, {each.q or 0.5}) {chosen}"
        case "collect_list" | "collect_set":
            of = (
                f"{value} ORDER BY ts, came, id" if function == "collect_list" else f"DISTINCT {value} ORDER BY {value}"
            )
            listed = f"coalesce(list({of}) {chosen}, [])"
            return f"CASE WHEN len({listed}) <= {each.q} THEN {listed} END"
        case "quantile_disc":
            return f"quantile_disc({value}, {each.q}) {chosen}"
        case "stddev" | "stddev_pop" | "var" | "var_pop":
            function = each.function if each.function.endswith("_pop") else f"{each.function}_samp"
            return f"{function}({real}) {chosen}"
        case "sum" if pa.types.is_integer(dtype):
            total = f"sum({distinct}{value}::HUGEINT) {chosen}"
            return f"CASE WHEN {total} BETWEEN -9223372036854775808 AND 9223372036854775807 THEN {total} END"
        case "avg" if not pa.types.is_floating(dtype):
            exact = f"CAST({value} AS DECIMAL(38,6))"
            return f"CAST(sum({distinct}{exact}) {chosen} AS DOUBLE) / count({distinct}{value}) {chosen}"
        case "corr" | "covar_samp" | "covar_pop":
            other = f'CAST("{each.second}" AS DOUBLE)'
            chosen = f"FILTER (WHERE {where} AND {value} IS NOT NULL AND {other} IS NOT NULL)"
            varies = [f"min({one}) {chosen} <> max({one}) {chosen}" for one in (real, other)]
            found = f"{function}({real}, {other}) {chosen}"
            return found if function != "corr" else f"CASE WHEN {' AND '.join(varies)} THEN {found} END"
        case _:
            return f"{function}({distinct}{value}) {chosen}"


def by_one_statement(query: Drawn, rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The answers over all records, by key and window."""
    records = pa.Table.from_pylist(rows, pa.schema(list(SOURCE.items())))
    records = records.append_column("position", pa.array(range(len(rows)), pa.int64()))
    with duckdb.connect() as database:
        database.register("records", records)
        found = database.execute(statement(query)).to_arrow_table().to_pylist()
    return {(*(row[name] for name in query.keys), row["window_start"], row["window_end"]): row for row in found}


def by_window(query: Drawn, declared: Query, warehouse: Path, streamed: bool) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The answers as readers get them, by key and window."""
    rows, columns = read_answers(declared, warehouse, streamed)
    keys = query.keys if query.is_list else ("key",) if query.keys else ()
    expected = [*(keys or ("key",)), "window_start", "window_end", *query.names, "tuples"]
    assert columns[: len(expected)] == expected
    found = {}
    for row in rows.drop_columns(["emitted_at"]).to_pylist():
        place = (*(in_ms(row[name]) for name in keys), in_ms(row["window_start"]), in_ms(row["window_end"]))
        assert place not in found, "an answer was given twice"
        found[place] = row
    return found


def in_ms(value: Any) -> Any:
    """Return a time, or each time of a list, in ms; other values as they are."""
    if isinstance(value, list):
        return [in_ms(each) for each in value]
    return int(value.replace(tzinfo=value.tzinfo or UTC).timestamp() * 1000) if isinstance(value, datetime) else value


def differences(query: Drawn, found: dict[str, Any], right: dict[str, Any], sizes: dict[str, Any]) -> list[str]:
    """The columns of an answer that differ; doubles may, by their rounding."""
    faults = []
    for name in [*query.names, "tuples"]:
        one, other = in_ms(found[name]), in_ms(right[name])
        aggregate = query.aggregates.get(name)
        if isinstance(other, float) and isinstance(one, float):
            size = 0.0 if aggregate is None or aggregate.function not in NUMBERS else sizes[f"{name}~"]
            if aggregate is not None and aggregate.function == "corr":
                size = 1e3  # the values of a column differ by far more than their rounding
            if aggregate is not None and aggregate.function.startswith("var"):
                size *= size
            is_root = aggregate is not None and aggregate.function.startswith("stddev")
            is_equal = abs(one - other) <= 1e-9 * abs(other) + (1e-7 if is_root else 1e-12) * size
        else:
            is_equal = one == other and isinstance(one, float) == isinstance(other, float)
        if not is_equal:
            faults.append(f"{name}: {one!r}, right is {other!r}")
    return faults
