from __future__ import annotations

from typing import Any

import pytest

from tailrace.expressions.errors import ExpressionError, Position
from tailrace.sql.derived import generated_name
from tailrace.sql.translate import translate

STREAM = {"event_time": "event_ts", "id": "event_id"}
TUMBLE = "FROM TUMBLE(TABLE events, DESCRIPTOR(event_ts), INTERVAL '5' MINUTES)"
BOUNDS = "GROUP BY window_start, window_end"
MINUTES = "GROUP BY window(event_ts, '5 minutes')"


def said(sql: str, stream: dict[str, Any] | None = None, **beside: Any) -> dict[str, Any]:
    """What SQL text says, of a stream `events`; the stream's own fields stand below `stream`."""
    fields = {"streams": {"events": STREAM | (stream or {})}} | beside
    translated = dict(translate(sql, fields).fields)
    (own,) = translated.pop("streams").values()
    return translated | {"stream": {name: value for name, value in own.items() if name not in STREAM}}


def aggregates(select: str, **stream: Any) -> dict[str, Any]:
    return said(f"SELECT {select} {TUMBLE} {BOUNDS}", stream)["aggregate"]


@pytest.mark.parametrize("columns", ["sensor, road", "(road, sensor)", "`sensor`, road"])
def test_sessions_are_those_of_the_groups(columns):
    table = f"SESSION(TABLE events PARTITION BY {columns}, DESCRIPTOR(event_ts), INTERVAL '30' MINUTES)"
    flink = said(f"SELECT sensor, road, window_start, count(*) AS n FROM {table} {BOUNDS}, sensor, road")
    groups = "FROM events GROUP BY session_window(event_ts, '30 minutes'), sensor, road"
    for bounds in ("session_window.start AS window_start, session_window", "SESSION_WINDOW.end", "window_start"):
        assert said(f"SELECT sensor, road, {bounds}, count(*) AS n {groups}") == flink
    for name in ("", " AS session_window"):
        assert said(f"SELECT session_window(event_ts, '30 minutes'){name}, count(*) AS n {groups}") == flink
    assert flink["stream"]["key"] == ["sensor", "road"]


def test_a_query_of_several_aggregates_by_the_table_function_tumble():
    sql = """
        SELECT country, lower(platform) AS platform, window_start, window_end,
          sum(amount / 1.19) AS revenue,
          count(*) AS purchases,
          count(*) FILTER (WHERE code >= 500) AS failures,
          percentile(latency, 0.9) AS p90,
          count(DISTINCT user) AS users,
          failures / purchases AS failure_rate
        FROM TUMBLE(TABLE events, DESCRIPTOR(event_ts), INTERVAL '5' MINUTES)
        WHERE status = 'paid' AND amount > 0
        GROUP BY window_start, window_end, country, lower(platform);
    """
    net = generated_name("amount / 1.19")
    assert said(sql) == {
        "kind": "aggregate",
        "stream": {
            "columns": {"platform": "lower(platform)", net: "amount / 1.19"},
            "where": "status = 'paid' AND amount > 0",
            "key": ["country", "platform"],
        },
        "window": {"size": "5 min"},
        "aggregate": {
            "revenue": {"function": "sum", "column": net},
            "purchases": {"function": "count"},
            "failures": {"function": "count", "where": "code >= 500"},
            "p90": {"function": "quantile", "column": "latency", "q": "0.9"},
            "users": {"function": "count_distinct", "column": "user"},
            "failure_rate": {"expression": "failures / purchases"},
        },
    }


@pytest.mark.parametrize(
    ("source", "groups", "window"),
    [
        (TUMBLE, BOUNDS, {"size": "5 min"}),
        ("FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(event_ts), INTERVAL '1' HOUR))", BOUNDS, {"size": "1 h"}),
        (
            "from tumble(table events, descriptor(`event_ts`), interval '1' day, interval '6' hours)",
            "group by window_end, window_start",
            {"size": "1 d", "offset": "6 h"},
        ),
        (
            "FROM HOP(TABLE events, DESCRIPTOR(event_ts), INTERVAL '0.1' SECOND, INTERVAL 500 MILLISECONDS)",
            BOUNDS,
            {"size": "500 ms", "slide": "100 ms"},
        ),
        (
            "FROM HOP(TABLE events, DESCRIPTOR(event_ts), INTERVAL '1' MINUTE, INTERVAL '5 minutes', '-30 s')",
            BOUNDS,
            {"size": "5 min", "slide": "1 min", "offset": "-30 s"},
        ),
        ("FROM HOP(TABLE events, DESCRIPTOR(event_ts), '1 h', '60 min')", BOUNDS, {"size": "1 h"}),
        ("FROM events", MINUTES, {"size": "5 min"}),
        ("FROM events", "GROUP BY window(event_ts, '5 minutes', '1 minute')", {"size": "5 min", "slide": "1 min"}),
        (
            "FROM events",
            "GROUP BY window(event_ts, INTERVAL '1' DAY, INTERVAL '1' DAY, '6 hours')",
            {"size": "1 d", "offset": "6 h"},
        ),
        ("FROM events", "GROUP BY window(event_ts, '2 weeks')", {"size": "14 d"}),
        ("FROM events", "GROUP BY window(event_ts, '1 week')", {"size": "7 d"}),
        ("FROM events", "GROUP BY session_window(event_ts, '30 minutes')", {"session": "30 min"}),
        ("FROM SESSION(TABLE events, DESCRIPTOR(event_ts), INTERVAL '90' SECONDS)", BOUNDS, {"session": "90 s"}),
    ],
)
def test_windows_of_both_grammars(source, groups, window):
    assert said(f"SELECT count(*) AS n {source} {groups}")["window"] == window


def test_windows_of_a_time_zone_have_it_beside_the_text():
    sql = "SELECT count(*) AS n FROM events GROUP BY window(event_ts, '1 {}')"
    zone = {"timezone": "Europe/Berlin"}
    for unit, size in [("day", "1 d"), *((unit, f"1 {unit}") for unit in ("week", "month", "quarter", "year"))]:
        assert said(sql.format(unit), window=zone)["window"] == {"size": size} | zone


@pytest.mark.parametrize(
    ("call", "section"),
    [
        *((f"{name}(x)", {"function": name, "column": "x"}) for name in ("sum", "avg", "min", "max", "median")),
        *((f"{name}(x)", {"function": name, "column": "x"}) for name in ("stddev", "stddev_pop", "var_pop")),
        ("mean(x)", {"function": "avg", "column": "x"}),
        ("STDDEV_SAMP(`x`)", {"function": "stddev", "column": "x"}),
        *((f"{name}(x)", {"function": "var", "column": "x"}) for name in ("variance", "var_samp")),
        ("first(x)", {"function": "first", "column": "x"}),
        ("last_value(x)", {"function": "last", "column": "x"}),
        ("min_by(x, event_ts)", {"function": "first", "column": "x"}),
        ("max_by(x, event_ts)", {"function": "last", "column": "x"}),
        ("Max_By(x, `y`)", {"function": "max_by", "column": "x", "by": "y"}),
        ("min_by(x, y) FILTER (WHERE x > 1)", {"function": "min_by", "column": "x", "by": "y", "where": "x > 1"}),
        ("any_value(x)", {"function": "any_value", "column": "x"}),
        ("collect_set(x)", {"function": "collect_set", "column": "x", "limit": "100"}),
        *(
            (f"{name}(x, 7)", {"function": "collect_list", "column": "x", "limit": "7"})
            for name in ("Array_agg", "collect_list")
        ),
        ("percentile_cont(0.9) WITHIN GROUP (ORDER BY x)", {"function": "quantile", "column": "x", "q": "0.9"}),
        ("percentile_cont(0.9) within group (order by x desc)", {"function": "quantile", "column": "x", "q": "0.1"}),
        (
            "percentile_disc(0.25) WITHIN GROUP (ORDER BY x ASC) FILTER (WHERE y > 1)",
            {"function": "quantile_disc", "column": "x", "q": "0.25", "where": "y > 1"},
        ),
        ("sum(DISTINCT x)", {"function": "sum_distinct", "column": "x"}),
        ("mean(distinct x)", {"function": "avg_distinct", "column": "x"}),
        *((f"{name}(x, y)", {"function": name, "column": "x", "other": "y"}) for name in ("corr", "covar_samp")),
        ("Covar_Pop(x, y)", {"function": "covar_pop", "column": "x", "other": "y"}),
        *((f"{name}(x)", {"function": "bool_and", "column": "x"}) for name in ("bool_and", "Every")),
        *((f"{name}(x)", {"function": "bool_or", "column": "x"}) for name in ("bool_or", "some", "ANY")),
        ("count(*)", {"function": "count"}),
        ("count(1)", {"function": "count"}),
        ("count(x)", {"function": "count", "column": "x"}),
        ("count_if(x > 3)", {"function": "count", "where": "x > 3"}),
        ("Count(distinct `my user`)", {"function": "count_distinct", "column": "my user"}),
        ("approx_count_distinct(x)", {"function": "count_distinct", "column": "x", "approximate": "true"}),
        ("estimate_sum(x)", {"function": "sum", "column": "x", "estimate": "true"}),
        ("estimate_count(*)", {"function": "count", "estimate": "true"}),
        ("estimate_count(x)", {"function": "count", "column": "x", "estimate": "true"}),
        (
            "estimate_sum(x) FILTER (WHERE y > 1)",
            {"function": "sum", "column": "x", "estimate": "true", "where": "y > 1"},
        ),
        ("percentile(x, 0.5)", {"function": "quantile", "column": "x", "q": "0.5"}),
        ("sum(x) FILTER (WHERE y in (1, 2))", {"function": "sum", "column": "x", "where": "y in (1, 2)"}),
        ("sum(case when a then 1 end)", {"function": "sum", "column": generated_name("case when a then 1 end")}),
    ],
)
def test_functions(call, section):
    assert aggregates(f"{call} AS it")["it"] == section
    assert aggregates(f"{call} it")["it"] == section, "AS may be left out"


def test_an_expression_reads_estimates():
    sections = aggregates("estimate_sum(x) AS total, count(x) AS n, estimate_sum(x) / 2 AS half")
    assert sections["half"] == {"expression": "total / 2"}
    sections = aggregates("sum(x) AS total, estimate_sum(x) / 2 AS half")
    assert sections["half"] == {"expression": "estimate_sum(x) / 2"}, "a sum is no estimate"


@pytest.mark.parametrize("call", ["estimate_sum(DISTINCT x)", "estimate_count(DISTINCT x)"])
def test_no_estimate_is_of_distinct_values(call):
    with pytest.raises(ExpressionError, match="of distinct values"):
        aggregates(f"{call} AS it")


def test_one_aggregate_without_a_name_is_the_short_form():
    both = said(f"SELECT sensor AS key, window_start, avg(speed) {TUMBLE} {BOUNDS}, sensor")
    assert both["stream"] == {"key": "sensor"}
    assert both["aggregate"] == {"function": "avg", "column": "speed"}
    listed = said(f"SELECT sensor, percentile(speed, 0.9) {TUMBLE} {BOUNDS}, sensor")
    assert listed["stream"] == {"key": ["sensor"]}
    assert listed["aggregate"] == {"function": "quantile", "column": "speed", "q": "0.9"}


UPPER = "upper(country)"
COALESCED = {"key": ["country"], "columns": {"country": "coalesce(country, '?')"}}


@pytest.mark.parametrize(
    ("items", "groups", "stream"),
    [
        ("", "", {}),
        ("", ", country", {"key": ["country"]}),
        ("country, `the code`,", ", `the code`, country", {"key": ["the code", "country"]}),
        ("country AS land,", ", country", {"key": ["land"], "columns": {"land": "country"}}),
        ("upper(country) AS land,", ", land", {"key": ["land"], "columns": {"land": "upper(country)"}}),
        ("upper(country) AS land,", ", UPPER( country )", {"key": ["land"], "columns": {"land": "upper(country)"}}),
        ("payload.device.os AS os,", ", payload.device.os", {"key": ["os"], "columns": {"os": "payload.device.os"}}),
        ("country,", ", 1", {"key": ["country"]}),
        ("count(*) AS m, upper(country) AS land, b,", ", 3, 2", {"key": ["b", "land"], "columns": {"land": UPPER}}),
        ("coalesce(country, '?') AS country,", ", 1", COALESCED),
        ("coalesce(country, '?') AS country,", ", coalesce(country, '?')", COALESCED),
        (
            "upper(country) AS key,",
            ", upper(country)",
            {"key": generated_name("upper(country)"), "columns": {generated_name("upper(country)"): "upper(country)"}},
        ),
    ],
)
def test_keys(items, groups, stream):
    assert said(f"SELECT {items} count(*) AS n {TUMBLE} {BOUNDS}{groups}")["stream"] == stream


def test_bounds_of_windows_may_be_listed_by_their_own_names():
    plain = said(f"SELECT count(*) AS n FROM events {MINUTES}")
    for bounds in ("window", "window.start, window.end", "window.start AS window_start, window.end AS window_end"):
        assert said(f"SELECT {bounds}, count(*) AS n FROM events {MINUTES}") == plain
    for name in ("", " AS window"):
        assert said(f"SELECT window(event_ts, '5 minutes'){name}, count(*) AS n FROM events GROUP BY 1") == plain
    assert said(f"SELECT window(event_ts, INTERVAL 300 SECONDS), count(*) AS n FROM events {MINUTES}") == plain
    assert said(f"SELECT window_end, window_start, count(*) AS n {TUMBLE} GROUP BY 1, 2") == plain


def test_casts_and_extract_read_the_names_of_answers():
    listed = "count(*) AS n, max(t) AS last"
    for text in (
        "cast(n AS double)",
        "try_cast(n AS tinyint)",
        "extract(hour FROM last)",
        "n::double",
        "case (n) when 1 then 2 end",
        "not (n > 1)",
        "n is distinct from 1",
    ):
        assert aggregates(f"{listed}, {text} AS x")["x"] == {"expression": text}
    with pytest.raises(ExpressionError, match="there is no function csat; right would be: cast"):
        aggregates(f"{listed}, csat(n AS double) AS x")


def test_distinct_from_is_no_clause():
    sql = f"SELECT count(*) AS n {TUMBLE} WHERE v IS DISTINCT FROM 'a' OR w IS NOT DISTINCT FROM v {BOUNDS}"
    assert said(sql)["stream"]["where"] == "v IS DISTINCT FROM 'a' OR w IS NOT DISTINCT FROM v"
    assert aggregates("max(v) IS DISTINCT FROM 1 AS x, max(v) AS y")["x"] == {"expression": "y IS DISTINCT FROM 1"}


def test_aggregates_in_an_expression_are_columns_of_the_list():
    listed = "count(*) AS n, count(*) FILTER (WHERE code >= 500) AS failures"
    for rate in ("failures / n", "count(*) filter (where code>=500) / count(*)", "count_if(code >= 500) / n"):
        found = aggregates(f"{listed}, {rate} AS rate, tuples - n AS rest")
        assert found["rate"] == {"expression": "failures / n"}
        assert found["rest"] == {"expression": "tuples - n"}
    rate = aggregates(f"{listed}, round(count(*) FILTER (WHERE code >= 500) / count(*), 2) AS rate")["rate"]
    assert rate == {"expression": "round(failures / n, 2)"}


@pytest.mark.parametrize("name", ["null", "true", "case", "current_date"])
def test_a_name_that_is_a_word_of_the_grammar_is_quoted_in_an_expression(name):
    assert aggregates(f"sum(v) AS `{name}`, sum(v) * 2 AS twice")["twice"] == {"expression": f"`{name}` * 2"}


def test_other_aggregates_in_an_expression_stand_in_it_in_one_spelling():
    own = generated_name("case when a then 1 end")
    for text, said_so in [
        ("round( mean(x), 2 )", "round( avg(x), 2 )"),
        ("coalesce(Sum(`x`) filter (where y > 1), 0)", "coalesce(sum(x) FILTER (WHERE y > 1), 0)"),
        ("count_if(y > 1) / count(1)", "count(*) FILTER (WHERE y > 1) / count(*)"),
        ("max_by(x, event_ts) - min_by(x, event_ts)", "last(x) - first(x)"),
        ("upper( max_by(x,y) )", "upper( max_by(x, y) )"),
        ("round(corr(x,y), 2)", "round(corr(x, y), 2)"),
        ("avg( DISTINCT x) + 1", "avg(DISTINCT x) + 1"),
        (
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY x) - percentile_disc(0.5) WITHIN GROUP (ORDER BY y)",
            "percentile(x, 0.5) - percentile_disc(0.5) WITHIN GROUP (ORDER BY y)",
        ),
        (
            "Percentile(x, ARRAY(0.5, 0.9)) FILTER (WHERE y > 1)",
            "if(percentile(x, 0.5) FILTER (WHERE y > 1) is null, null, "
            "array(percentile(x, 0.5) FILTER (WHERE y > 1), percentile(x, 0.9) FILTER (WHERE y > 1)))",
        ),
        (
            "percentile_cont([0.25]) WITHIN GROUP (ORDER BY x DESC)[0] - n",
            "if(percentile(x, 0.75) is null, null, array(percentile(x, 0.75)))[0] - n",
        ),
        ("size(array_agg(x)) + 1", "size(collect_list(x, 100)) + 1"),
        ("every(x) or any(y)", "bool_and(x) or bool_or(y)"),
        ("sum(case when a then 1 end) * 100.0 / count(*)", f"sum({own}) * 100.0 / count(*)"),
        ("round(sum(1000 div code))", f"round(sum(`{generated_name('1000 div code')}`))"),
        ("percentile(x, 0.9) - count(distinct `my x`)", "percentile(x, 0.9) - count(DISTINCT `my x`)"),
        ("sum(x)::double", "sum(x)::double"),
        ("sum(n) + n", "sum(n) + n"),
    ]:
        assert aggregates(f"count(y) AS n, {text} AS it")["it"] == {"expression": said_so}
    stream = said(f"SELECT 1 + sum(x / 2) AS a, avg( x  / 2 ) - sum(y / 2) AS b {TUMBLE} {BOUNDS}")["stream"]
    assert [*stream["columns"]] == [generated_name("x / 2"), generated_name("y / 2")]


def test_derived_columns_have_one_name_however_they_are_spaced_and_stand_after_the_declared_ones():
    stream = said(
        f"SELECT sum(net * 2) AS a, max( net  *  2 ) AS b, sum(Net * 2) AS c {TUMBLE} {BOUNDS}",
        {"columns": {"net": "amount / 1.19"}},
    )["stream"]
    net, double, other = stream["columns"]
    assert (net, double, other) == ("net", generated_name("net * 2"), generated_name("Net * 2"))
    assert double != other, "names of columns differ by case"


def test_comments_and_texts_hide_no_words():
    sql = f"""SELECT count(*) AS n -- FROM nowhere, ORDER BY
        {TUMBLE} WHERE a = 'x GROUP BY y; ' and /* LIMIT */ `from` > 1 {BOUNDS}"""
    assert said(sql)["stream"]["where"] == "a = 'x GROUP BY y; ' and /* LIMIT */ `from` > 1"


@pytest.mark.parametrize(
    ("partition", "source"),
    [
        ("window_start, window_end, country", TUMBLE),
        ("country, window(event_ts, '5 minutes')", "FROM events"),
    ],
)
@pytest.mark.parametrize(
    ("order", "bound", "topk"),
    [
        ("price DESC", "rank <= 5", {"k": "5", "score": "price", "order": "descending"}),
        ("price", "rank < 4", {"k": "3", "score": "price", "order": "ascending"}),
        ("price ASC, event_id", "5 >= rank", {"k": "5", "score": "price", "order": "ascending"}),
        ("abs(price) DESC", "rank = 1", {"k": "1", "score": generated_name("abs(price)"), "order": "descending"}),
    ],
)
def test_the_best_of_each_window(partition, source, order, bound, topk):
    number = f"row_number() OVER (PARTITION BY {partition} ORDER BY {order}) AS rank"
    query = said(f"SELECT * FROM (SELECT *, {number} {source} WHERE price > 0) AS best WHERE {bound}")
    columns = query["stream"].pop("columns", {})
    assert query == {
        "kind": "topk",
        "stream": {"where": "price > 0", "key": ["country"]},
        "window": {"size": "5 min"},
        "topk": topk,
    }
    assert list(columns.values()) == (["abs(price)"] if "abs" in order else [])


def test_a_list_of_the_best_names_the_key_and_columns_that_answers_have():
    number = "row_number() OVER (PARTITION BY window_start, window_end, lower(venue) ORDER BY price DESC) nr"
    inner = f"SELECT lower(venue) AS place, event_id, price, {number} {TUMBLE}"
    query = said(f"SELECT window_start, window_end, place, nr, event_id, price FROM ({inner}) WHERE nr <= 2")
    assert query["stream"] == {"columns": {"place": "lower(venue)"}, "key": ["place"]}
    plain = inner.replace("lower(venue)", "venue").replace("place", "key")
    assert said(f"SELECT * FROM ({plain}) WHERE nr <= 2")["stream"] == {"key": "venue"}


NUMBER = "row_number() OVER (PARTITION BY window_start, window_end, country ORDER BY price DESC) AS rank"


@pytest.mark.parametrize(
    ("inner", "outer", "select"),
    [
        ("*", "*", None),
        ("*, venue", "*", ["venue"]),
        ("*", "venue, rank", ["venue"]),
        ("country, venue, price, event_id, window_start", "*", ["venue", "price", "event_id"]),
        ("venue, `my code`, venue", "rank, `my code`, country", ["my code"]),
        ("venue", "window_start, country, rank", None),
        ("venue, maker", "rank, maker, venue", ["maker", "venue"]),
        ("*, lower(venue) AS place, round(price, 1) AS rounded", "*", ["place", "rounded"]),
        ("lower(venue) AS place, maker", "place, rank", ["place"]),
        ("lower(venue) AS place, maker", "maker, rank", ["maker"]),
        ("*, venue AS venue", "*", ["venue"]),
    ],
)
def test_a_list_of_the_best_selects_the_columns_that_come_out(inner, outer, select):
    query = said(f"SELECT {outer} FROM (SELECT {inner}, {NUMBER} {TUMBLE}) WHERE rank <= 2")
    assert query["topk"].get("select") == select
    derived = query["stream"].get("columns", {})
    assert derived.keys() == {name for name in select or () if name in ("place", "rounded")}
    assert query["stream"]["key"] == ["country"]


def test_the_id_and_the_score_by_their_names_in_answers_are_there_already():
    stream = {"events": STREAM | {"id": "id"}}
    number = NUMBER.replace("price", "score")
    sql = f"SELECT id, score, venue FROM (SELECT *, {number} {TUMBLE}) WHERE rank <= 2"
    assert translate(sql, {"streams": stream}).fields["topk"]["select"] == ["venue"]


def test_what_stands_beside_the_text_stays():
    number = "row_number() OVER (PARTITION BY window_start, window_end ORDER BY price) AS rank"
    sql = f"SELECT * FROM (SELECT *, {number} {TUMBLE}) WHERE rank <= 2"
    query = said(sql, {"arrival_time": "came"}, kind="topk", topk={"method": "sma"}, disorder={"policy": "none"})
    assert query["topk"] == {"k": "2", "score": "price", "order": "ascending", "method": "sma"}
    assert (query["disorder"], query["stream"]) == ({"policy": "none"}, {"arrival_time": "came"})


def test_each_field_has_its_place_in_the_text():
    sql = f"SELECT country,\n  sum(a) AS total\n{TUMBLE}\nWHERE a > 0\n{BOUNDS}, country"
    translation = translate(sql, {"streams": {"events": STREAM}})
    places = {
        ("aggregate", "total", "column"): "2:3",
        ("window", "size"): "3:49",
        ("window", "slide"): "3:38",
        ("streams", "events", "where"): "4:7",
        ("streams", "events", "key"): "5:10",
    }
    assert {path: str(translation.position_of(path)) for path in places} == places
    assert translation.position_of(("streams", "events", "id")) is None
    assert translation.position_of(("disorder",)) is None


FILTERED = "SELECT *, amount / 1.19 AS net FROM events WHERE status = 'paid'"
NET = {"columns": {"net": "amount / 1.19"}, "where": "status = 'paid'", "key": ["country"]}
TUMBLE_PAID = TUMBLE.replace("events", "paid")


@pytest.mark.parametrize(
    "sql",
    [
        f"WITH paid AS ({FILTERED}) SELECT country, sum(net) AS revenue {TUMBLE_PAID} {BOUNDS}, country",
        f"WITH paid AS ({FILTERED}) SELECT country, sum(net) AS revenue FROM paid {MINUTES}, country",
        f"SELECT country, sum(net) AS revenue FROM ({FILTERED}) {MINUTES}, country",
        f"SELECT country, sum(net) AS revenue FROM ({FILTERED}) AS paid {MINUTES}, country;",
        f"WITH `a b` AS ({FILTERED}), paid AS (SELECT * FROM `a b`) "
        f"SELECT country, sum(net) AS revenue {TUMBLE_PAID} {BOUNDS}, country",
        f"WITH events AS ({FILTERED}) SELECT country, sum(net) AS revenue FROM events {MINUTES}, country",
    ],
)
def test_a_select_of_with_and_a_subquery_are_columns_and_where(sql):
    query = said(sql)
    assert (query["stream"], query["aggregate"]) == (NET, {"revenue": {"function": "sum", "column": "net"}})
    assert query["window"] == {"size": "5 min"}


def test_conditions_of_several_selects_are_joined_in_their_order_and_columns_stand_on_each_other():
    stream = said(
        f"""WITH paid AS (SELECT event_ts, amount, code AS `the code`, lower(platform) AS platform
                          FROM events WHERE status = 'paid' OR code > 0),
                 netto AS (SELECT *, amount / 1.19 AS net FROM paid WHERE platform = 'web' /* no app */ OR amount > 9)
            SELECT platform, sum(net * 2) AS revenue FROM (SELECT * FROM netto WHERE net > 1)
            WHERE `the code` <> 3 {MINUTES}, platform""",
        {"columns": {"amount": "gross - vat"}},
    )["stream"]
    assert stream["where"] == (
        "(status = 'paid' OR code > 0) and (platform = 'web' /* no app */ OR amount > 9) and (net > 1)"
        " and (`the code` <> 3)"
    )
    assert [*stream["columns"].items()] == [
        ("amount", "gross - vat"),
        ("the code", "code"),
        ("platform", "lower(platform)"),
        ("net", "amount / 1.19"),
        (generated_name("net * 2"), "net * 2"),
    ]


def test_the_best_of_each_window_of_what_with_names():
    number = "row_number() OVER (PARTITION BY window_start, window_end ORDER BY net DESC, event_id) AS rank"
    ranked = f"SELECT *, {number} {TUMBLE_PAID} WHERE net > 1"
    for sql in (
        f"WITH paid AS ({FILTERED}) SELECT * FROM ({ranked}) WHERE rank <= 3",
        f"WITH paid AS ({FILTERED}), ranked AS ({ranked}) SELECT * FROM ranked WHERE rank <= 3",
    ):
        query = said(sql)
        assert query["topk"] == {"k": "3", "score": "net", "order": "descending"}
        assert query["stream"] == {"columns": NET["columns"], "where": "(status = 'paid') and (net > 1)"}


def test_each_column_and_condition_of_what_with_names_has_its_place():
    paid = "SELECT *,\n amount / 1.19 AS net\nFROM events WHERE a"
    sql = f"WITH paid AS ({paid})\nSELECT max(net) AS n FROM paid {MINUTES}"
    translation = translate(sql, {"streams": {"events": STREAM}})
    places = {("streams", "events", "columns", "net"): "2:2", ("streams", "events", "where"): "3:19"}
    assert {path: str(translation.position_of(path)) for path in places} == places


def test_a_place_in_joined_conditions_is_in_the_condition_that_has_it():
    below = "WITH a AS (SELECT * FROM events WHERE x\n > 1),\nb AS (SELECT * FROM a WHERE y)"
    sql = f"{below}\nSELECT max(x) AS n FROM b WHERE\nz {MINUTES}"
    translation = translate(sql, {"streams": {"events": STREAM}})
    path = ("streams", "events", "where")
    assert translation.fields["streams"]["events"]["where"] == "(x\n > 1) and (y) and (z)"
    places = {(1, 2): "1:39", (2, 2): "1:39", (2, 12): "3:29", (2, 20): "5:1"}
    assert {at: str(translation.position_in(path, Position(*at))) for at in places} == places
