"""Derived columns and conditions of drawn queries: each as Spark SQL, as plain Python, and as a statement of DuckDB.

The three share nothing but their columns. `FAULT` in Python stands for a value that can't be computed; in DuckDB each
column has a boolean beside it that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from math import isnan
from typing import Any

import pyarrow as pa

Row = Mapping[str, Any]
EXACT = Context(prec=80)

SOURCE: dict[str, pa.DataType] = {
    "ts": pa.int64(),
    "came": pa.int64(),
    "id": pa.string(),
    "country": pa.string(),
    "platform": pa.string(),
    "code": pa.int64(),
    "amount": pa.decimal128(18, 2),
    "latency": pa.float64(),
    "user": pa.string(),
    "paid": pa.bool_(),
    "payload": pa.string(),
}


class Failed(Exception):
    """Raised by the reading of a value that can't be computed."""


class _Fault:
    def __repr__(self) -> str:
        return "FAULT"


FAULT = _Fault()


class Record(dict[str, Any]):
    """The columns of a record; to read one that failed fails."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if value is FAULT:
            raise Failed
        return value


@dataclass(frozen=True)
class Derived:
    """A derived column.

    Attributes
    ----------
    spark : str
        Its expression in a query.
    sql, fault : str
        Its value in DuckDB, and whether it can't be computed though all that it reads can.
    value : callable
        Its value in Python.
    reads : tuple of str
    lazy : str or None
        Whether a failure of what it reads matters, in DuckDB; None: always.
    """

    name: str
    spark: str
    dtype: pa.DataType
    value: Callable[[Record], Any]
    sql: str
    reads: tuple[str, ...]
    fault: str = "false"
    lazy: str | None = None


def scaled(units: int, scale: int) -> Decimal:
    return Decimal(units).scaleb(-scale, EXACT)


def units(value: Decimal, scale: int) -> int:
    return int(value.scaleb(scale, EXACT))


def _quotient(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return None
    if other == 0:
        raise Failed
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def _ratio(one: float | None, other: int | None) -> float | None:
    if one is None or other is None:
        return None
    if other == 0:
        raise Failed
    return one / other


def _net(amount: Decimal | None) -> Decimal | None:
    """The amount / 1.19 to 6 places, half away from zero."""
    if amount is None:
        return None
    over = abs(units(amount, 2)) * 10**6
    rounded = (2 * over + 119) // 238
    return scaled(rounded if amount >= 0 else -rounded, 6)


def _doubled(code: int | None) -> int | None:
    if code is None:
        return None
    if not -(2**63) <= 2 * code < 2**63:
        raise Failed
    return 2 * code


def _part(user: str | None) -> int | None:
    if user is None:
        return None
    text = user[1:]
    if not text.isdigit():
        raise Failed
    return int(text)


def _pace(latency: float | None) -> str:
    if latency is None:
        return "none"
    return "slow" if latency > 100 or isnan(latency) else "fast"


def _of(value: Any, compute: Callable[[Any], Any]) -> Any:
    return None if value is None else compute(value)


_PAYLOADS = {'{"a": "x"}': "x", '{"a": 3, "b": [1]}': "3", "no json": None, "{}": None, '{"a": null}': None}
PAYLOADS = [*_PAYLOADS, None]

DERIVED = [
    Derived(
        "platform",
        "lower(coalesce(platform, 'Unknown'))",
        pa.string(),
        lambda row: "unknown" if row["platform"] is None else row["platform"].lower(),
        "lower(coalesce(platform, 'Unknown'))",
        ("platform",),
    ),
    Derived(
        "net",
        "amount / 1.19",
        pa.decimal128(24, 6),
        lambda row: _net(row["amount"]),
        "CAST((CASE WHEN amount < 0 THEN -1 ELSE 1 END * ((abs(CAST(amount::DECIMAL(38,2) * 100::DECIMAL(3,0)"
        " AS HUGEINT)) * 2000000 + 119) // 238))::DECIMAL(38,0) * 0.000001::DECIMAL(7,6) AS DECIMAL(24,6))",
        ("amount",),
    ),
    Derived(
        "gross",
        "amount + 0.5",
        pa.decimal128(19, 2),
        lambda row: _of(row["amount"], lambda amount: EXACT.add(amount, Decimal("0.50"))),
        "CAST(amount::DECIMAL(30,2) + 0.5::DECIMAL(2,1) AS DECIMAL(19,2))",
        ("amount",),
    ),
    Derived(
        "share",
        "1000 div code",
        pa.int64(),
        lambda row: _quotient(1000, row["code"]),
        "CASE WHEN code <> 0 THEN sign(code) * (1000 // abs(code::HUGEINT)) END::BIGINT",
        ("code",),
        "code = 0",
    ),
    Derived(
        "doubled",
        "code * 2",
        pa.int64(),
        lambda row: _doubled(row["code"]),
        "TRY_CAST(code::HUGEINT * 2 AS BIGINT)",
        ("code",),
        "code::HUGEINT * 2 NOT BETWEEN -9223372036854775808 AND 9223372036854775807",
    ),
    Derived(
        "pace",
        "case when latency > 100 then 'slow' when latency is not null then 'fast' else 'none' end",
        pa.string(),
        lambda row: _pace(row["latency"]),
        "CASE WHEN latency > 100 THEN 'slow' WHEN latency IS NULL THEN 'none' ELSE 'fast' END",
        ("latency",),
    ),
    Derived(
        "seconds",
        "latency / 1000",
        pa.float64(),
        lambda row: _of(row["latency"], lambda latency: latency / 1000),
        "latency / 1000",
        ("latency",),
    ),
    Derived(
        "bucket",
        "code % 3",
        pa.int64(),
        lambda row: _of(row["code"], lambda code: code % 3 if code >= 0 else -(-code % 3)),
        "CAST(sign(code) * (abs(code::HUGEINT) % 3) AS BIGINT)",
        ("code",),
    ),
    Derived(
        "hour",
        "hour(timestamp_millis(ts))",
        pa.int32(),
        lambda row: _of(row["ts"], lambda at: at // 3_600_000 % 24),
        "CAST(ts // 3600000 % 24 AS INTEGER)",
        ("ts",),
    ),
    Derived(
        "part",
        "cast(substring(user, 2) as int)",
        pa.int32(),
        lambda row: _part(row["user"]),
        'TRY_CAST(substr("user", 2) AS INTEGER)',
        ("user",),
        '"user" IS NOT NULL AND TRY_CAST(substr("user", 2) AS INTEGER) IS NULL',
    ),
    Derived(
        "field",
        "get_json_object(payload, '$.a')",
        pa.string(),
        lambda row: _of(row["payload"], _PAYLOADS.get),
        "CASE WHEN json_valid(payload) THEN json_extract_string(payload, '$.a') END",
        ("payload",),
    ),
    Derived(
        "day",
        "date_trunc('DAY', timestamp_millis(ts))",
        pa.timestamp("us", "UTC"),
        lambda row: _of(row["ts"], lambda at: at // 86_400_000 * 86_400_000),
        "ts // 86400000 * 86400000",
        ("ts",),
    ),
    Derived(
        "is_big",
        "amount >= 10",
        pa.bool_(),
        lambda row: _of(row["amount"], lambda amount: amount >= 10),
        "amount >= 10",
        ("amount",),
    ),
    Derived(
        "ratio",
        "latency / code",
        pa.float64(),
        lambda row: _ratio(row["latency"], row["code"]),
        "CASE WHEN code <> 0 THEN latency / code::DOUBLE END",
        ("latency", "code"),
        "code = 0 AND latency IS NOT NULL",
    ),
    Derived(
        "total spent",
        "net * 2",
        pa.decimal128(26, 6),
        lambda row: _of(row["net"], lambda net: EXACT.multiply(net, Decimal(2))),
        "CAST(net::DECIMAL(30,6) * 2::DECIMAL(1,0) AS DECIMAL(26,6))",
        ("net",),
    ),
    Derived(
        "bracket",
        "if(paid, platform, cast(share as string))",
        pa.string(),
        lambda row: row["platform"] if row["paid"] else _of(row["share"], str),
        "CASE WHEN paid THEN platform ELSE CAST(share AS VARCHAR) END",
        ("paid", "platform", "share"),
        lazy="paid IS NOT TRUE",
    ),
    Derived(
        "at most",
        "greatest(`total spent`, gross, 3)",
        pa.decimal128(26, 6),
        lambda row: max(each for each in (row["total spent"], row["gross"], Decimal(3)) if each is not None),
        'CAST(greatest("total spent", gross, 3) AS DECIMAL(26,6))',
        ("total spent", "gross"),
    ),
]
"""In the order in which a query has them: each reads the source's columns and some above it."""


@dataclass(frozen=True)
class Condition:
    """A condition on a record, as `Derived` has it; one that may fail can decide what becomes of a record."""

    spark: str
    value: Callable[[Record], bool | None]
    sql: str
    fault: str
    reads: tuple[str, ...]
    may_fail: bool = False


def _leaf(spark: str, value: Callable[[Record], bool | None], sql: str, *reads: str, fault: str = "false") -> Condition:
    failed = " OR ".join([f"({fault})", *(f'"{name}?"' for name in reads)])
    may_fail = fault != "false" or bool({"share", "part"} & {*reads})
    return Condition(spark, value, sql, f"coalesce({failed}, false)", reads, may_fail)


def _negated(value: Any) -> Any:
    return None if value is None else not value


LEAVES = [
    _leaf("paid", lambda row: row["paid"], "paid", "paid"),
    _leaf("not paid", lambda row: _negated(row["paid"]), "NOT paid", "paid"),
    _leaf("amount > 0", lambda row: _of(row["amount"], lambda each: each > 0), "amount > 0", "amount"),
    _leaf("code <> 3", lambda row: _of(row["code"], lambda each: each != 3), "code <> 3", "code"),
    _leaf(
        "country in ('DE', '')",
        lambda row: _of(row["country"], lambda each: each in ("DE", "")),
        "country IN ('DE', '')",
        "country",
    ),
    _leaf(
        "platform like '%o%'",
        lambda row: _of(row["platform"], lambda each: "o" in each),
        "contains(platform, 'o')",
        "platform",
    ),
    _leaf("latency is not null", lambda row: row["latency"] is not None, "latency IS NOT NULL", "latency"),
    _leaf("share > -500", lambda row: _of(row["share"], lambda each: each > -500), "share > -500", "share"),
    _leaf("is_big", lambda row: row["is_big"], "is_big", "is_big"),
    _leaf("part >= 2", lambda row: _of(row["part"], lambda each: each >= 2), "part >= 2", "part"),
    _leaf(
        "1000 / code < 500",
        lambda row: _of(_ratio(1000.0, row["code"]), lambda each: each < 500),
        "CASE WHEN code <> 0 THEN 1000 / code::DOUBLE < 500 END",
        "code",
        fault="code = 0",
    ),
    _leaf("true", lambda row: True, "true"),
]


def both(one: Condition, other: Condition, is_and: bool) -> Condition:
    """Two conditions joined; the second can't fail where the first one decides."""

    def value(row: Record) -> bool | None:
        first = one.value(row)
        if first is (not is_and):
            return first
        second = other.value(row)
        if second is (not is_and):
            return second
        return None if first is None or second is None else is_and

    word = "AND" if is_and else "OR"
    open_ = f"({one.sql}) IS DISTINCT FROM {str(not is_and).lower()}"
    return Condition(
        f"({one.spark}) {word.lower()} {other.spark}",
        value,
        f"(({one.sql}) {word} ({other.sql}))",
        f"({one.fault} OR ({open_} AND {other.fault}))",
        (*one.reads, *other.reads),
    )
