"""The outer select list of a top-n over the inner one: what comes out, and what is refused at its place."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.expressions.errors import ExpressionError
from tailrace.sql.translate import translate

FIELDS = {"streams": {"trades": {"event_time": "ts", "id": "trade"}}}
NUMBER = "row_number() OVER (PARTITION BY window_start, window_end, symbol ORDER BY price DESC) AS r"
TUMBLE = "FROM TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL '1' MINUTE)"


def top_n(inner: str, outer: str) -> str:
    return f"SELECT {outer} FROM (SELECT {inner}, {NUMBER} {TUMBLE}) AS t WHERE r <= 2"


def said(inner: str, outer: str) -> dict[str, Any]:
    fields = translate(top_n(inner, outer), FIELDS).fields
    stream = fields["streams"]["trades"]
    return {"select": fields["topk"].get("select"), "columns": stream.get("columns", {}), "key": stream["key"]}


@pytest.mark.parametrize(
    ("inner", "outer", "columns"),
    [
        ("round(price, 1) AS amount", "amount * 2 AS x", {"x": "(round(price, 1)) * 2"}),
        ("a + b AS amount", "-amount * amount AS x", {"x": "-(a + b) * (a + b)"}),
        ("a + b AS `my sum`", "abs(`my sum`) AS x", {"x": "abs((a + b))"}),
        ("venue AS place", "upper(place) AS x", {"x": "upper(venue)"}),
        ("`my place` AS place", "upper(place) AS x", {"x": "upper(`my place`)"}),
        ("payload AS p", "lower(p.os.name) AS x", {"x": "lower(payload.os.name)"}),
        ("payload.device AS d", "d.os AS x", {"x": "(payload.device).os"}),
        ("venue", "upper(venue) AS x", {"x": "upper(venue)"}),
        ("venue AS venue", "upper(venue) AS x", {"x": "upper(venue)"}),
        ("*", "amount * 2 AS x", {"x": "amount * 2"}),
        ("*, price / 2 AS half", "half / fee AS x", {"x": "(price / 2) / fee"}),
        ("date_add(day, 1) AS date", "cast(date as string) AS x", {"x": "cast((date_add(day, 1)) as string)"}),
        ("maker AS round", "concat('round', round, ROUND(1, 2)) AS x", {"x": "concat('round', maker, ROUND(1, 2))"}),
        ("größe * 2 AS maß", "maß + 1 AS x", {"x": "(größe * 2) + 1"}),
        ("amount * 2 AS amount, fee AS x", "amount + 1 AS x", {"x": "(amount * 2) + 1"}),
    ],
)
def test_an_expression_reads_the_columns_of_the_inner_list(inner, outer, columns):
    assert said(inner, outer) == {"select": ["x"], "columns": columns, "key": ["symbol"]}


def test_a_column_that_comes_out_and_an_expression_over_it_are_two():
    query = said("round(price, 1) AS amount", "amount * 2 AS double, amount, r")
    assert query["select"] == ["double", "amount"]
    assert query["columns"] == {"double": "(round(price, 1)) * 2", "amount": "round(price, 1)"}


@pytest.mark.parametrize(
    ("inner", "outer", "select"),
    [
        ("maker, venue", "upper(maker) AS x, *", ["x", "maker", "venue"]),
        ("*, upper(venue) AS place", "*", ["place"]),
        ("*", "*, venue", ["venue"]),
        ("maker", "symbol, window_start, window_end, window, r", None),
        ("maker", "r AS rank, maker", ["maker"]),
        ("maker", "r AS r, maker", ["maker"]),
        ("venue, maker, venue", "maker, venue, maker", ["maker", "venue"]),
    ],
)
def test_columns_come_out_in_the_order_of_the_outer_list(inner, outer, select):
    assert said(inner, outer)["select"] == select


@pytest.mark.parametrize(
    ("inner", "outer", "key"),
    [
        ("symbol AS share, maker", "maker", "share"),
        ("symbol, maker", "symbol AS share, maker", "share"),
        ("*", "symbol AS share, maker", "share"),
        ("symbol, maker", "maker, symbol", "symbol"),
    ],
)
def test_the_key_is_named_by_what_comes_out_and_else_by_the_inner_list(inner, outer, key):
    query = said(inner, outer)
    assert (query["key"], query["select"]) == ([key], ["maker"])


@pytest.mark.parametrize(
    ("inner", "outer", "fault", "remedy"),
    [
        ("venue", "r, ¦r * 100 AS x", "an expression over r, which is no column of a tuple", "r as it is"),
        ("*", "abs(\n ¦r) AS x", "an expression over r", "r as it is"),
        ("*", "hour(¦window_start) AS x", "an expression over window_start", "window_start as it is"),
        ("venue", "¦r AS x", "answers have the rank as rank, and not as x", "r, without another name"),
        ("symbol", "¦price", "the inner list has no column price", "price in the inner list, or * there"),
        ("amount", "*, ¦venue", "the inner list has no column venue", "venue in the inner list"),
        ("amount", "amount, amount * ¦fee AS x", "the inner list has no column fee", "fee in the inner list"),
        ("amount", "¦Amount", "the inner list has no column Amount", "amount; or Amount in the inner list"),
        ("venue AS place", "¦venue", "the inner list has no column venue", "venue in the inner list"),
        ("venue", "¦symbol AS share", "the inner list has no column symbol", "symbol in the inner list"),
        ("venue AS place", "¦place AS x", "gets a second name", "AS x where place is named"),
        ("*", "¦trades.venue", "by the name of its table: trades.venue", "venue"),
        ("*, ¦t.venue", "*", "by the name of its table: t.venue", "venue"),
        ("*, round(¦t.price) AS a", "a + 1 AS x", "by the name of its table: t.price", "price"),
        ("*", "¦trades.*", "by the name of their table: trades.*", "*"),
        ("venue, maker", "¦* EXCEPT (venue)", "is no list of columns", "columns by their names"),
        ("venue, upper(maker) AS ¦venue", "*", "two columns are named venue", "a name of its own"),
        ("venue", "venue, upper(venue) AS ¦venue", "two columns are named venue", "a name of its own"),
        ("*", "maker, ¦venue + 1", "no column of the answers", "venue + 1 AS a name for it"),
        ("¦window_start AS begin", "begin", "by their own names", "window_start"),
        ("¦bar(x) AS a", "a + 1 AS x", "no function bar", ""),
        ("*", "¦bar(a) AS x", "no function bar", ""),
    ],
)
def test_what_the_outer_list_cannot_say_is_refused_at_its_place(inner, outer, fault, remedy):
    before, _, after = top_n(inner, outer).partition("¦")
    lines = before.split("\n")
    with pytest.raises(ExpressionError) as refused:
        translate(before + after, FIELDS)
    assert fault in refused.value.fault
    assert remedy in refused.value.remedy
    assert refused.value.position == (len(lines), len(lines[-1]) + 1)


def test_a_name_of_the_rank_that_the_inner_list_has_too_is_refused():
    with pytest.raises(ExpressionError, match="two columns are named r"):
        translate(top_n("r", "r"), FIELDS)


def test_each_selected_column_has_its_place_in_the_text():
    sql = top_n("venue, maker AS made", "made,\n venue,\n price + 1 AS x").replace("SELECT venue", "SELECT *, venue")
    translation = translate(sql, FIELDS)
    assert translation.fields["topk"]["select"] == ["made", "venue", "x"]
    places = {index: str(translation.position_of(("topk", "select", str(index)))) for index in range(3)}
    line = "\n".join(sql.split("\n")[2:])
    assert places == {0: f"3:{line.index('maker AS') + 1}", 1: f"3:{line.index('venue,') + 1}", 2: "3:2"}
