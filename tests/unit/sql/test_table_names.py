"""A column may begin with the name of its table, or with the table's alias."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.expressions.errors import ExpressionError
from tailrace.sql.translate import translate

FIELDS = {"streams": {"trades": {"event_time": "ts", "id": "id"}}}
AGGREGATE = (
    "SELECT {q}symbol, sum({q}price * {q}size) AS money, count(*) FILTER (WHERE {q}size > 1) AS n FROM {table} "
    "WHERE {q}price > 0 GROUP BY window({q}ts, '1 h'), {q}symbol"
)
TUMBLED = (
    "SELECT {q}window_start, {q}window_end, {q}symbol, max({q}price) AS top FROM {table} "
    "GROUP BY {q}window_start, {q}window_end, {q}symbol"
)
TUMBLE = "TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL '1' HOUR)"


def said(sql: str) -> Any:
    """The sections of a query, without the spacing of its expressions."""
    return closed_up(translate(sql, FIELDS).fields)


def closed_up(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: closed_up(each) for name, each in value.items()}
    return " ".join(value.split()).replace("( ", "(") if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("qualifier", "table"),
    [("trades.", "trades"), ("t.", "trades t"), ("t.", "trades AS t"), ("`t`.", "trades `t`"), ("", "trades t")],
)
def test_columns_of_the_stream_may_name_it(qualifier, table):
    assert said(AGGREGATE.format(q=qualifier, table=table)) == said(AGGREGATE.format(q="", table="trades"))


@pytest.mark.parametrize(
    ("qualifier", "table"),
    [("trades.", TUMBLE), ("w.", f"{TUMBLE} w"), ("w.", f"TABLE({TUMBLE}) AS w"), ("w.", f"{TUMBLE} AS w")],
)
def test_columns_of_windows_may_name_them(qualifier, table):
    assert said(TUMBLED.format(q=qualifier, table=table)) == said(TUMBLED.format(q="", table=TUMBLE))


@pytest.mark.parametrize(("qualifier", "alias"), [("trades.", ""), ("s.", " s")])
def test_columns_of_sessions_may_name_their_table(qualifier, alias):
    session = "SESSION(TABLE trades PARTITION BY {q}symbol, DESCRIPTOR(ts), INTERVAL '1' HOUR)"
    plain = TUMBLED.format(q="", table=session.format(q=""))
    for own in ("", qualifier):
        assert said(TUMBLED.format(q=qualifier, table=session.format(q=own) + alias)) == said(plain)


def test_each_select_has_names_of_its_own():
    plain = "WITH big AS (SELECT *, price * 2 AS twice FROM trades WHERE size > 9) SELECT sum(twice) AS n FROM big"
    plain += " WHERE twice > 1 GROUP BY window(ts, '1 h')"
    named = "WITH big AS (SELECT t.*, t.price * 2 AS twice FROM trades t WHERE t.size > 9) SELECT sum(t.twice) AS n"
    named += " FROM big t WHERE t.twice > 1 GROUP BY window(t.ts, '1 h')"
    assert said(named) == said(plain)


def test_a_name_of_a_subquery_does_not_hold_in_it():
    sql = "SELECT max({q}half) AS n FROM (SELECT ts, p.x AS half FROM trades) AS p GROUP BY window(ts, '1 h')"
    assert said(sql.format(q="p.")) == said(sql.format(q=""))
    assert said(sql.format(q="p."))["streams"]["trades"]["columns"] == {"half": "p.x"}


def test_the_best_of_each_window_by_names_of_tables():
    number = "row_number() OVER (PARTITION BY {q}window_start, {q}window_end, {q}symbol ORDER BY {q}price DESC) AS r"
    sql = f"SELECT {{o}}maker, {{o}}r FROM (SELECT {{q}}*, {number} FROM {TUMBLE} {{w}}) AS o WHERE {{o}}r <= 2"
    assert said(sql.format(o="o.", q="w.", w="w")) == said(sql.format(o="", q="", w=""))


def test_a_field_of_a_struct_is_no_column_of_a_table():
    sql = "SELECT max(t.price.amount) AS n, max(price.trades.t) AS m FROM trades t GROUP BY window(ts, '1 h')"
    assert said(sql) == said(sql.replace("t.price", "price").replace("trades t", "trades"))


def test_the_bounds_of_a_stream_called_window_stay():
    fields = {"streams": {"window": {"event_time": "ts"}}}
    sql = "SELECT window.start, max(window.x) AS n FROM window GROUP BY window(window.ts, '1 h')"
    aggregate = translate(sql, fields).fields["aggregate"]
    assert aggregate == {"n": {"function": "max", "column": "x"}}


def test_a_refusal_has_its_place_in_the_text_as_typed():
    sql = "SELECT t.symbol,\n  sum(t.price * sqr(t.size)) AS n FROM trades t GROUP BY window(t.ts, '1 h'), t.symbol"
    with pytest.raises(ExpressionError, match="no function sqr") as refused:
        translate(sql, FIELDS)
    assert refused.value.position == (2, 17)
