"""Whole queries as users write them, drawn with the records that they read: sections, SQL text, and files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from hypothesis import Phase, given, seed
from hypothesis import strategies as st

from kit.draws.drawn_columns import DERIVED, LEAVES, PAYLOADS, SOURCE, Condition, Derived, both
from kit.draws.streams import EPOCH, disordered
from kit.oracles import oracle
from kit.suite.examples import drawn
from tailrace.sql.derived import generated_name

STREAM = "events"
LISTS = ("collect_list", "collect_set")
JOINT = ("corr", "covar_samp", "covar_pop")
DISTINCT = ("sum_distinct", "avg_distinct")
NUMBERS = (*JOINT, *DISTINCT, "sum", "avg", "median", "quantile", "stddev", "stddev_pop", "var", "var_pop")
BOOLEANS = ("bool_and", "bool_or")
BY = ("min_by", "max_by")
OTHERS = ("count", "min", "max", "count_distinct", "first", "last", "any_value", "quantile_disc")
FUNCTIONS = (*NUMBERS, *BOOLEANS, *BY, *LISTS, *OTHERS)
SPARK = {"quantile": "percentile", "var": "var_samp", "stddev": "stddev_samp"}
_ANSWER = re.compile(r"\banswer_\d+\b")


@dataclass(frozen=True)
class Aggregate:
    """An aggregate of a query; its column is None for the number of tuples."""

    function: str
    column: str | None
    where: Condition | None = None
    q: str | None = None
    approximate: bool = False
    is_inline: bool = False
    second: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, in the order of SQL text."""
        return tuple(name for name in (self.column, self.second) if name is not None)

    def section(self, name_of: Mapping[str, str]) -> dict[str, Any]:
        column = None if self.column is None else name_of.get(self.column, self.column)
        section: dict[str, Any] = {"function": self.function, "column": column}
        section |= {"where": None if self.where is None else self.where.spark, "q": self.q and float(self.q)}
        section |= {"approximate": self.approximate or None}
        if self.function in LISTS:
            section |= {"q": None, "limit": int(str(self.q))}
        if self.second is not None:
            section["other" if self.function in JOINT else "by"] = name_of.get(self.second, self.second)
        return {name: value for name, value in section.items() if value is not None}

    def call(self, text_of: Mapping[str, str], event_time: str | None) -> str:
        """The call in SQL text; in an expression of sections, where no event time is named."""
        value = "*" if self.column is None else text_of.get(self.column, quoted(self.column))
        function = SPARK.get(self.function, self.function)
        if self.function == "count_distinct":
            call = f"approx_count_distinct({value})" if self.approximate else f"count(DISTINCT {value})"
        elif self.function == "quantile":
            call = f"percentile({value}, {self.q})"
            if self.is_inline:
                call = f"percentile_cont({self.q}) WITHIN GROUP (ORDER BY {value})"
        elif self.function in LISTS:
            named = "array_agg" if self.is_inline and function == "collect_list" else function
            call = f"{named}({value}" + (")" if self.q == "100" else f", {self.q})")
        elif self.function == "quantile_disc":
            call = f"percentile_disc({self.q}) WITHIN GROUP (ORDER BY {value} ASC)"
        elif self.function in DISTINCT:
            call = f"{function.removesuffix('_distinct')}(DISTINCT {value})"
        elif self.second is not None:
            call = f"{function}({value}, {text_of.get(self.second, quoted(self.second))})"
        elif self.function in ("first", "last") and self.is_inline and event_time:
            call = f"{'min_by' if self.function == 'first' else 'max_by'}({value}, {event_time})"
        elif self.function == "count" and self.column is None and self.where is not None and self.is_inline:
            return f"count_if({self.where.spark})"
        else:
            call = f"{function}({value})"
        return call + ("" if self.where is None else f" FILTER (WHERE {self.where.spark})")


@dataclass(frozen=True)
class Expression:
    """An expression over answers: as Spark SQL, as a statement of DuckDB, and in Python."""

    spark: str
    sql: str
    value: Any

    @property
    def reads(self) -> list[str]:
        """The aggregates that it reads."""
        return _ANSWER.findall(self.spark)

    def over(self, calls: Mapping[str, str]) -> str:
        """As Spark SQL, with the calls of some aggregates in place of their names."""
        return _ANSWER.sub(lambda name: calls.get(name[0], name[0]), self.spark)


@dataclass(frozen=True)
class Drawn:
    """A query, and its settings of time as the oracle has them.

    Attributes
    ----------
    keys : tuple of str
    is_list : bool
        Whether the key is a list of columns, which answers have by their names.
    null_key : str or None
    inline : frozenset of str
        The derived columns that SQL text has where they are used, and not beside it.
    is_flinks : bool
        Whether SQL text has the windows in FROM, and not in GROUP BY.
    hidden : frozenset of str
        The aggregates that stand in expressions alone, and in no column of answers.
    having : Expression or None
        The condition of answers.
    are_sessions : bool
        Whether its windows are sessions, whose gap is the size in its settings.
    """

    derived: tuple[Derived, ...]
    where: Condition | None
    keys: tuple[str, ...]
    is_list: bool
    null_key: str | None
    aggregates: dict[str, Aggregate]
    expressions: dict[str, Expression]
    settings: oracle.Settings
    unit: str | None
    inline: frozenset[str]
    is_flinks: bool
    parallelism: int
    hidden: frozenset[str] = frozenset()
    having: Expression | None = None
    are_sessions: bool = False

    @property
    def listed(self) -> dict[str, Aggregate]:
        """The aggregates that are columns of answers."""
        return {name: each for name, each in self.aggregates.items() if name not in self.hidden}

    @property
    def types(self) -> dict[str, pa.DataType]:
        return SOURCE | {each.name: each.dtype for each in self.derived}

    @property
    def groups_nulls(self) -> bool:
        return self.null_key != "quarantine"

    @property
    def names(self) -> list[str]:
        """The columns of answers in their order, without the key."""
        return [*self.listed, *self.expressions]

    def texts(self, text_of: Mapping[str, str], event_time: str | None) -> dict[str, str]:
        """The expressions as Spark SQL, by name."""
        calls = self._calls(text_of, event_time)
        return {name: each.over(calls) for name, each in self.expressions.items()}

    def condition(self, text_of: Mapping[str, str], event_time: str | None) -> str | None:
        """The condition of answers as Spark SQL."""
        return None if self.having is None else self.having.over(self._calls(text_of, event_time))

    def _calls(self, text_of: Mapping[str, str], event_time: str | None) -> dict[str, str]:
        return {name: self.aggregates[name].call(text_of, event_time) for name in self.hidden}

    def gives(self, answer: Mapping[str, Any]) -> bool:
        """Test whether an answer meets the condition."""
        return self.having is None or self.having.value(answer) is True

    @property
    def over_answers(self) -> list[Expression]:
        """The expressions over answers, and their condition."""
        return [*self.expressions.values(), *([] if self.having is None else [self.having])]

    @property
    def needed(self) -> set[str]:
        """The derived columns that are computed: those that a part of a tuple or a condition needs."""
        conditions = [self.where, *(each.where for each in self.aggregates.values())]
        wanted = {*self.keys, *(name for each in self.aggregates.values() for name in each.columns)}
        wanted |= {name for each in conditions if each is not None for name in each.reads}
        found = set()
        for each in reversed(self.derived):
            if each.name in wanted:
                found.add(each.name)
                wanted = (wanted - {each.name}) | set(each.reads)
        return found

    @property
    def window(self) -> dict[str, str]:
        own, offset = self.settings, {}
        if self.unit is not None:
            return {"size": f"1 {self.unit}".replace("day", "d"), "timezone": str(own.days_of)}
        if self.are_sessions:
            return {"session": f"{own.size} ms"}
        offset = {"offset": f"{own.offset} ms"} if own.offset else {}
        return {"size": f"{own.size} ms", "slide": f"{own.slide} ms"} | offset

    def declaration(self, path: Path | str) -> dict[str, Any]:
        """The fields of a query file, without those that SQL text can say."""
        name, *k = self.settings.policy if isinstance(self.settings.policy, tuple) else (self.settings.policy,)
        stream = {"source": {"format": "parquet", "path": str(path)}, "event_time": "ts", "arrival_time": "came"}
        stream |= {"id": "id", "bounds": {"ahead": "1 d"}}
        stream |= {} if self.null_key is None else {"null_key": self.null_key}
        return {
            "name": "drawn",
            "streams": {STREAM: stream},
            "disorder": {"policy": name, "tick": f"{self.settings.tick} ms"} | ({"k": f"{k[0]} ms"} if k else {}),
            "parallelism": self.parallelism,
        }

    @property
    def names_inline(self) -> dict[str, str]:
        """The names of the columns that SQL text has in place, but of a key, to which it gives a name."""
        return {
            each.name: generated_name(each.spark)
            for each in self.derived
            if each.name in self.inline and each.name not in (self.keys if self.is_list else ())
        }

    def sections(self, path: Path | str) -> str:
        """The query file in sections."""
        fields, name_of = self.declaration(path), self.names_inline
        stream = fields["streams"][STREAM]
        stream["columns"] = {name_of.get(each.name, each.name): each.spark for each in self.derived}
        if self.where is not None:
            stream["where"] = self.where.spark
        if self.keys:
            keys = [name_of.get(name, name) for name in self.keys]
            stream["key"] = keys if self.is_list else keys[0]
        aggregate = {name: each.section(name_of) for name, each in self.listed.items()}
        text_of = {name: quoted(other) for name, other in name_of.items()}
        aggregate |= {name: {"expression": text} for name, text in self.texts(text_of, None).items()}
        having = self.condition(text_of, None)
        aggregate |= {} if having is None else {"having": having}
        fields |= {"kind": "aggregate", "window": self.window, "aggregate": aggregate}
        return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)

    @property
    def has_selects(self) -> bool:
        """Whether SQL text has the columns that are not in place as SELECTs on top of each other, not beside it."""
        return (self.parallelism + len(self.derived)) % 2 == 0 and len(self.derived) > len(self.inline)

    def selects(self) -> list[tuple[str, str]]:
        """SELECTs on top of each other by name: each derives a column, the last one filters."""
        listed, found = [*SOURCE], list[tuple[str, str]]()
        for each in self.derived:
            if each.name not in self.inline:
                others = [quoted(name) for name in listed if name != each.name]
                columns = ", ".join([*others, f"{each.spark} AS {quoted(each.name)}"])
                found.append(
                    (f"with_{each.name}", f"SELECT {columns} FROM {quoted(found[-1][0]) if found else STREAM}")
                )
                listed = [*(name for name in listed if name != each.name), each.name]
        where = "" if self.where is None else f" WHERE {self.where.spark}"
        return [*found, ("chosen", f"SELECT * FROM {quoted(found[-1][0])}{where}")]

    def statement(self) -> str:
        """The query as SQL text."""
        text_of = {each.name: each.spark for each in self.derived if each.name in self.inline}
        bounds = ["window_start", "window_end"]
        where = "" if self.where is None or self.has_selects else f"\nWHERE {self.where.spark}"
        selects, rows = (self.selects(), "chosen") if self.has_selects else ([], STREAM)
        items, values = [], [text_of.get(name, quoted(name)) for name in self.keys]
        if self.is_flinks:
            source, groups = self._table_function(rows, values), bounds
        else:
            source, groups = f"({selects.pop()[1]})" if selects else rows, [self._window_call()]
            column = "session_window" if self.are_sessions else "window"
            bounds = [f"{column}.start AS window_start", f"{column}.end AS window_end"]
        for name, value in zip(self.keys, values, strict=True):
            alias = name if self.is_list else "key"
            items.append(value if value == quoted(alias) else f"{value} AS {quoted(alias)}")
        items += bounds
        items += [f"{each.call(text_of, 'ts')} AS {name}" for name, each in self.listed.items()]
        items += [f"{text} AS {name}" for name, text in self.texts(text_of, "ts").items()]
        listed = ",\n  ".join(items)
        named = ",\n".join(f"{quoted(name)} AS ({select})" for name, select in selects)
        begin = f"WITH {named}\n" if selects else ""
        condition = self.condition(text_of, "ts")
        having = "" if condition is None else f"\nHAVING {condition}"
        return f"{begin}SELECT {listed}\nFROM {source}{where}\nGROUP BY {', '.join([*groups, *values])}{having}"

    def sql_file(self, path: Path | str) -> str:
        """The query file with SQL text."""
        fields = self.declaration(path)
        if self.unit is not None:
            fields["window"] = {"timezone": self.settings.days_of}
        beside = {each.name: each.spark for each in self.derived if each.name not in self.inline}
        if beside and not self.has_selects:
            fields["streams"][STREAM]["columns"] = beside
        return yaml.safe_dump(fields | {"sql": self.statement()}, sort_keys=False, allow_unicode=True)

    def _lengths(self) -> list[str]:
        own = self.settings
        if self.unit is not None:
            return [f"'1' {self.unit.upper()}"]
        if self.are_sessions:
            return [f"'{own.size / 1000:.3f}' SECOND"]
        lengths = [own.size] + ([own.offset] if own.offset else [])
        if own.slide != own.size or (not self.is_flinks and own.offset):
            lengths = [own.slide, own.size, *lengths[1:]] if self.is_flinks else [own.size, own.slide, *lengths[1:]]
        return [f"'{length / 1000:.3f}' SECOND" for length in lengths]

    def _table_function(self, rows: str, keys: list[str]) -> str:
        own = self.settings
        if self.are_sessions:
            partition = f" PARTITION BY {', '.join(keys)}" if keys else ""
            return f"SESSION(TABLE {rows}{partition}, DESCRIPTOR(ts), INTERVAL {self._lengths()[0]})"
        name = "TUMBLE" if self.unit is not None or own.slide == own.size else "HOP"
        return f"{name}(TABLE {rows}, DESCRIPTOR(ts), {', '.join(f'INTERVAL {each}' for each in self._lengths())})"

    def _window_call(self) -> str:
        lengths = [each.replace("'", "").lower() for each in self._lengths()]
        function = "session_window" if self.are_sessions else "window"
        return f"{function}(ts, " + ", ".join(f"'{each}'" for each in lengths) + ")"


def quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def is_number(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype))


def is_key(dtype: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_string, pa.types.is_boolean, pa.types.is_timestamp)
    return any(test(dtype) for test in tests)


@st.composite
def conditions(draw: st.DrawFn, columns: set[str]) -> Condition:
    leaves = [leaf for leaf in LEAVES if set(leaf.reads) <= columns]
    leaf = st.one_of(st.sampled_from(leaves), st.sampled_from([leaf for leaf in leaves if leaf.may_fail]))
    found = draw(leaf)
    for _ in range(draw(st.sampled_from([0, 1, 1, 2]))):
        found = both(found, draw(leaf), draw(st.booleans()))
    return found


@st.composite
def derived_columns(draw: st.DrawFn) -> tuple[Derived, ...]:
    """Some derived columns, with those that they read."""
    wanted = draw(
        st.sets(st.sampled_from([each.name for each in DERIVED]), min_size=draw(st.integers(0, 3)), max_size=5)
    )
    for each in reversed(DERIVED):
        if each.name in wanted:
            wanted |= {name for name in each.reads if name not in SOURCE}
    return tuple(each for each in DERIVED if each.name in wanted)


@st.composite
def aggregates(draw: st.DrawFn, types: Mapping[str, pa.DataType]) -> dict[str, Aggregate]:
    found = {}
    for place in range(draw(st.sampled_from([1, 3, 5]))):
        function = draw(st.sampled_from(FUNCTIONS))
        fits = [name for name, dtype in types.items() if function not in NUMBERS or is_number(dtype)]
        if function in BOOLEANS:
            fits = [name for name, dtype in types.items() if pa.types.is_boolean(dtype)]
        if not fits:
            function, fits = "count", [*types]
        column = draw(st.sampled_from(sorted(fits)))
        has_q = function in LISTS or function.startswith("quantile")
        found[f"answer_{place}"] = Aggregate(
            function,
            None if function == "count" and draw(st.booleans()) else column,
            draw(conditions(set(types))) if draw(st.integers(0, 2)) == 0 else None,
            draw(st.sampled_from(["2", "100"] if function in LISTS else ["0.9", "0.5", "0.001"])) if has_q else None,
            function == "count_distinct" and draw(st.booleans()),
            draw(st.booleans()),
            draw(st.sampled_from(sorted(types if function in BY else fits))) if function in (*BY, *JOINT) else None,
        )
    return found


@st.composite
def expressions(draw: st.DrawFn, named: Mapping[str, Aggregate]) -> dict[str, Expression]:
    """Expressions over counts, over doubles, over any answer; and one over another."""
    counts = [name for name, each in named.items() if each.function in ("count", "count_distinct")]
    counts.append("tuples")
    doubles = [
        name for name, each in named.items() if each.function in NUMBERS[len(JOINT) :] and "sum" not in each.function
    ]
    one, other = draw(st.sampled_from(counts)), draw(st.sampled_from(counts))
    pool = [
        Expression(
            f"{one} / {other}",
            f"CASE WHEN {other} <> 0 THEN {one} / {other}::DOUBLE END",
            lambda row: row[one] / row[other] if row[other] else None,
        ),
        Expression(
            f"case when {one} > 1 then 'many' else concat('few: ', cast({other} as string)) end",
            f"CASE WHEN {one} > 1 THEN 'many' ELSE 'few: ' || {other} END",
            lambda row: "many" if row[one] > 1 else f"few: {row[other]}",
        ),
    ]
    if doubles:
        real = draw(st.sampled_from(doubles))
        pool.append(
            Expression(
                f"coalesce({real}, 0) > 0 and {one} = {other}",
                f"coalesce({real}, 0) > 0 AND {one} = {other}",
                lambda row: (row[real] or 0) > 0 and row[one] == row[other],
            )
        )
    first = draw(st.sampled_from([*named]))
    pool.append(
        Expression(f"{first} is null", f"{first} IS NULL", lambda row: row[first] is None),
    )
    chosen = draw(st.lists(st.sampled_from(range(len(pool))), unique=True, max_size=2))
    found = {f"of_{place}": pool[place] for place in chosen}
    if found and draw(st.booleans()):
        above = next(iter(found))
        found["above"] = Expression(f"{above} is not null", f"{above} IS NOT NULL", lambda row: row[above] is not None)
    return found


@st.composite
def conditions_of_answers(draw: st.DrawFn, named: Mapping[str, Aggregate]) -> Expression:
    """A condition of answers over a count, perhaps with one over any answer."""
    counts = [name for name, each in named.items() if each.function in ("count", "count_distinct")]
    count, least = draw(st.sampled_from([*counts, "tuples", "tuples"])), draw(st.integers(1, 3))
    if draw(st.booleans()):
        return Expression(f"{count} >= {least}", f"{count} >= {least}", lambda row: row[count] >= least)
    first = draw(st.sampled_from([*named]))
    return Expression(
        f"not ({first} is null or {count} < {least})",
        f"NOT ({first} IS NULL OR {count} < {least})",
        lambda row: not (row[first] is None or row[count] < least),
    )


@st.composite
def queries(draw: st.DrawFn, times: oracle.Settings) -> Drawn:
    derived = draw(derived_columns())
    types = SOURCE | {each.name: each.dtype for each in derived}
    plain = {name: dtype for name, dtype in types.items() if name not in ("ts", "came", "id")}
    named = draw(aggregates(plain))
    where = draw(conditions(set(types))) if draw(st.integers(0, 3)) else None
    keys = draw(st.lists(st.sampled_from(sorted(n for n, t in plain.items() if is_key(t))), unique=True, max_size=3))
    is_list = len(keys) > 1 or (len(keys) == 1 and draw(st.booleans()))
    unit = None if times.days_of is None else draw(st.sampled_from(["day", "week", "month", "quarter", "year"]))
    query = Drawn(
        derived,
        where,
        tuple(keys),
        is_list,
        draw(st.sampled_from([None, None, "group", "quarantine"])) if keys else None,
        named,
        draw(expressions(named)),
        replace(times, skew=60_000),
        unit,
        frozenset(),
        draw(st.booleans()),
        draw(st.integers(1, 3)),
    )
    are_sessions = times.days_of is None and draw(st.integers(0, 3)) == 0
    query = replace(query, having=draw(st.none() | conditions_of_answers(named)), are_sessions=are_sessions)
    read = sorted({name for each in query.over_answers for name in each.reads})
    hidden = frozenset(name for name in read if draw(st.booleans()))
    if not query.expressions and hidden == named.keys():  # an answer has a column
        hidden -= {read[0]}
    inline = frozenset(name for name in inlinable(query) if draw(st.booleans()))
    return in_order(replace(query, inline=inline, hidden=hidden))


def inlinable(query: Drawn) -> list[str]:
    """The derived columns that are used in one way alone, as a key or by aggregates, and by no other expression."""
    conditions = [query.where, *(each.where for each in query.aggregates.values())]
    read = {name for each in conditions if each is not None for name in each.reads}
    read |= {name for each in query.derived for name in each.reads}
    columns = {name for each in query.aggregates.values() for name in each.columns}
    return [
        each.name
        for each in query.derived
        if each.name not in read and each.name not in SOURCE and (each.name in query.keys) != (each.name in columns)
    ]


def in_order(query: Drawn) -> Drawn:
    """The query with its derived columns in the order in which SQL text has them: beside it first, then in place."""
    within = [name for each in query.over_answers for name in each.reads if name in query.hidden]
    met = [*query.keys, *(column for name in (*query.listed, *within) for column in query.aggregates[name].columns)]
    inline = [each for each in query.derived if each.name in query.inline]
    beside = [each for each in query.derived if each.name not in query.inline]
    return replace(query, derived=(*beside, *sorted(inline, key=lambda each: met.index(each.name))))


COUNTRIES = ["DE", "FR", "", "ä\0b", 'q"\\', "x" * 300]
CODES = [0, 0, 1, 3, -3, 7, 1000, 2**53 + 1, 2**63 - 1, -(2**63), 2**62]
LATENCIES = [0.0, -2.5, 99.5, 100.5, 1e6, 0.1]
AMOUNTS = ["0.00", "10.00", "9.99", "-0.01", "1.19", "9999999999999999.99", "-9999999999999999.99", "0.07"]
USERS = ["u1", "u2", "u17", "ux", "u"]


@st.composite
def records(draw: st.DrawFn, tuples: list[oracle.Tuple]) -> list[dict[str, Any]]:
    """The tuples as records, with values of all columns, nulls among them; some can be no tuples."""
    odd = draw(st.integers(0, 3)) == 0
    hot = draw(st.sampled_from([None, "DE"]))
    parts = {
        "country": st.just(hot) if hot else st.sampled_from([*COUNTRIES, None]),
        "platform": st.sampled_from(["iOS", "ios", "Web", "Ä", "", None]),
        "code": st.sampled_from([*CODES, None]),
        "amount": st.sampled_from([*map(Decimal, AMOUNTS), None]),
        "latency": st.sampled_from([*LATENCIES, *([float("nan"), float("inf")] if odd else []), None]),
        "user": st.sampled_from([*USERS, None]),
        "paid": st.sampled_from([True, True, False, None]),
        "payload": st.sampled_from(PAYLOADS),
    }
    shared = draw(st.fixed_dictionaries(parts))  # a value of its own for some columns of a record, to shrink well
    rows = []
    for each in tuples:
        own = draw(st.fixed_dictionaries({}, optional=parts))
        row = {"ts": each.event_time, "came": each.arrival_time, "id": each.id} | shared | own
        if odd and draw(st.integers(0, 9)) == 0:
            row |= draw(
                st.sampled_from([{"ts": None}, {"came": None}, {"id": None}, {"ts": EPOCH - 30 * 31_557_600_000}])
            )
        rows.append(row)
    return rows


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[dict[str, Any]], Drawn]:
    tuples, times = draw(disordered(min_tuples=1, max_tuples=25, duplicates=True, placed=True))
    query = draw(queries(times))
    return draw(records(tuples)), query


def richest(seed_: int, among: int = 200) -> list[tuple[list[dict[str, Any]], Drawn]]:
    """The cases that a seed draws with all parts of a query, those with the most records and columns first."""
    found: list[tuple[int, list[dict[str, Any]], Drawn]] = []

    @seed(seed_)
    @drawn(among, phases=[Phase.generate])
    @given(cases())
    def collect(case: tuple[list[dict[str, Any]], Drawn]) -> None:
        rows, query = case
        parts = len(query.derived) * len(query.aggregates) * (1 + len(query.keys)) * len(query.expressions)
        parts *= (len(query.derived) > 1) * (query.having is not None)
        found.append((len(rows) * parts, rows, query))

    collect()
    return [(rows, query) for size, rows, query in sorted(found, key=lambda each: -each[0]) if size]


def write_records(rows: list[dict[str, Any]], directory: Path, first: int, bounds: list[int]) -> None:
    """The records between each two neighbouring bounds as a file, numbered from `first` on."""
    directory.mkdir(exist_ok=True, parents=True)
    for number, start in enumerate(bounds[:-1]):
        table = pa.Table.from_pylist(rows[start : bounds[number + 1]], pa.schema(list(SOURCE.items())))
        pq.write_table(table, directory / f"part-{first + number:05d}.parquet")
