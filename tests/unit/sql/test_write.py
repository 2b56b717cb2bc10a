"""SQL text that is written from sections says the same sections: generated queries of both kinds, and some by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.functions.registry import FUNCTIONS
from tailrace.sql.derived import generated_name, quoted
from tailrace.sql.over_aggregates import written as called
from tailrace.sql.translate import translate
from tailrace.sql.write import plain, write

STREAM = {"event_time": "event_ts", "id": "event_id"}
NAMES = ["country", "my code", "limit", "from", "window", "window_end", "a`b", "null", "Price", "größe", "user", "x"]
CONDITIONS = [
    "code >= 500",
    "status = 'paid, GROUP BY x' and (amount > 0 or `from` is null)",
    "coalesce(a, 'x -- y') <> '' /* c */ and b in (1, 2)",
    "case when a then true else false end",
    "a and -- why\n  b",
]
EXPRESSIONS = ["amount / 1.19", "lower(payload.os)", "case when a > b then a end", "try_cast(x as decimal(18, 2))"]
EXPRESSIONS += ["date_format(event_ts, 'yyyy-MM')", "to_date(day, \"dd.MM.yyyy''\")"]
EXPRESSIONS += ["year(from_utc_timestamp(event_ts, 'Asia/Kolkata'))"]
NUMBERS = ["sum", "avg", "min", "max", "median"]
NAMED = [name for name, each in FUNCTIONS.items() if name != "count" and "q" not in each.parameters]
SECOND = {name: field for name, each in FUNCTIONS.items() for field in each.columns if field != "column"}
LENGTHS = ["1 ms", "500 ms", "1500 ms", "7 s", "5 min", "90 min", "6 h", "1 d", "14 d"]

columns = st.sampled_from(NAMES)


@st.composite
def sections_of_windows(draw: st.DrawFn, has_sessions: bool) -> dict[str, str]:
    zone = draw(st.sampled_from(["", "", "Europe/Berlin"]))
    if zone:
        return {"size": draw(st.sampled_from(["1 d", "7 d", "1 month", "1 quarter", "1 year"])), "timezone": zone}
    window = {"size": draw(st.sampled_from(LENGTHS))}
    if has_sessions and draw(st.sampled_from([False, False, True])):
        return {"session": window["size"]}
    if draw(st.booleans()):
        window["slide"] = draw(st.sampled_from([length for length in LENGTHS if length != window["size"]]))
    return window | draw(st.sampled_from([{}, {"offset": "6 h"}, {"offset": "-1500 ms"}]))


@st.composite
def declarations(draw: st.DrawFn) -> dict[str, Any]:
    derived = {generated_name(text): text for text in draw(st.lists(st.sampled_from(EXPRESSIONS), unique=True))}
    declared = draw(st.sampled_from([{}, {"net": "amount / 1.19"}, {"platform": "lower(platform)"}]))
    used = [*NAMES, *declared]
    values = st.sampled_from([*used, *derived])
    key: Any = draw(st.one_of(st.none(), columns, st.lists(st.sampled_from(used), min_size=1, max_size=3, unique=True)))
    stream: dict[str, Any] = STREAM | ({"where": draw(st.sampled_from(CONDITIONS))} if draw(st.booleans()) else {})
    stream |= {"key": key} if key is not None else {}
    kind = draw(st.sampled_from(["short", "named", "topk"]))
    if kind == "topk":
        topk = {"k": str(draw(st.integers(1, 10_000))), "score": draw(values)}
        topk |= {"order": draw(st.sampled_from(["descending", "ascending"]))}
        topk |= draw(st.sampled_from([{}, {"method": "sma"}]))
        keys = [key] if isinstance(key, str) else key or []
        named = st.sampled_from([name for name in used if name not in (*keys, "window_end")])
        select = draw(st.lists(named, max_size=3, unique=True))
        topk |= {"select": select} if select else {}
        section: dict[str, Any] = {"kind": "topk", "topk": topk}
        read = {topk["score"]}
    else:
        names = draw(st.lists(st.sampled_from(["a1", "total", "rate", "rank"]), min_size=1, unique=True))
        if kind == "short":
            each = draw(calls(values, NUMBERS, [""]))
            section, read = {"kind": "aggregate", "aggregate": each}, columns_of(each)
        else:
            calls_by_name = {name: draw(calls(values, NAMED, ["", "", *CONDITIONS])) for name in names}
            read = {column for each in calls_by_name.values() for column in columns_of(each)}
            ratio = {"ratio": {"expression": f"({names[0]} - 1) / tuples"}} if draw(st.booleans()) else {}
            within = draw(calls(values, NAMED, ["", *CONDITIONS]))
            if within not in calls_by_name.values():  # else it has that one's name
                ratio |= {"within": {"expression": f"coalesce({called(within)}, 0) * 100.0 / tuples"}}
                read |= columns_of(within)
            section = {"kind": "aggregate", "aggregate": calls_by_name | ratio}
    texts = declared | {name: text for name, text in derived.items() if name in read}
    stream |= {"columns": texts} if texts else {}
    rest = draw(st.sampled_from([{}, {"name": "sales", "disorder": {"policy": "k_slack", "k": "1 s"}}]))
    return section | rest | {"streams": {"events": stream}, "window": draw(sections_of_windows(kind != "topk"))}


def columns_of(section: dict[str, Any]) -> set[str | None]:
    return {section.get(name) for name in ("column", *SECOND.values())}


@st.composite
def calls(draw: st.DrawFn, values: st.SearchStrategy[str], functions: list[str], conditions: list[str]) -> Any:
    where = draw(st.sampled_from(conditions))
    condition = {"where": where} if where else {}
    estimates = st.sampled_from([{}, {"estimate": "true"}])
    form = draw(st.sampled_from(["", "", "count", "quantile", "quantile_disc"]))
    if form == "count":
        further = draw(st.sampled_from([{}, {"column": draw(values)}])) | draw(estimates)
        return {"function": "count"} | further | condition
    share: dict[str, Any] = {"q": draw(st.sampled_from(["0.5", "0.999"]))} if form else {}
    function = form or draw(st.sampled_from(functions))
    share |= {"approximate": "true"} if function == "count_distinct" and draw(st.booleans()) else {}
    share |= draw(estimates) if function == "sum" else {}
    share |= {"limit": draw(st.sampled_from(["100", "7"]))} if function.startswith("collect") else {}
    share |= {SECOND[function]: draw(values)} if function in SECOND else {}
    return {"function": function, "column": draw(values)} | share | condition


@drawn(400)
@given(declarations())
def test_sections_to_text_and_back_is_the_identity(declaration: dict[str, Any]) -> None:
    written = write(declaration)
    assert written is not None
    again = translate(*written).fields
    assert again == declaration
    assert [*again["streams"]["events"].get("columns", {})] == [*declaration["streams"]["events"].get("columns", {})]
    assert write(again) == written


def named(**aggregate: Any) -> dict[str, Any]:
    window = {"size": "5 min"}
    return {"kind": "aggregate", "streams": {"events": STREAM}, "window": window, "aggregate": aggregate}


@pytest.mark.parametrize(
    ("text", "written_so"),
    [
        ("sum( net ) / mean(b)", "total / avg(b)"),
        ("count_if(a > 1) - approx_count_distinct(b)", "count(*) FILTER (WHERE a > 1) - approx_count_distinct(b)"),
        ("max(net) - min(net) FILTER (WHERE a = ' sum(b) ')", "max(net) - min(net) FILTER (WHERE a = ' sum(b) ')"),
    ],
)
def test_aggregates_in_an_expression_are_written_in_the_one_spelling_that_is_read_back(text, written_so):
    written = write(named(total={"function": "sum", "column": "net"}, r={"expression": text}))
    assert f"{written_so} AS r" in written.sql
    again = translate(*written).fields
    assert again["aggregate"]["r"] == {"expression": written_so}
    assert write(again) == written


def test_columns_that_aggregates_in_an_expression_read_stand_in_the_text():
    text = "case when a then b end"
    column = generated_name(text)
    share = named(r={"expression": f"sum({column}) * 100.0 / count(*)"})
    share["streams"] = {"events": STREAM | {"columns": {column: text}}}
    assert f"sum({text}) * 100.0 / count(*) AS r" in write(share).sql
    assert write(share).beside["streams"] == {"events": STREAM}


def test_a_query_whose_expression_ends_in_a_comment_has_no_text_that_the_comment_would_swallow():
    assert write(named(n={"function": "count", "where": "a -- b"})) is None
    commented = {"streams": {"events": STREAM | {"where": "a -- b"}}}
    assert write(named(n={"function": "count"}) | commented) is None, "it would be another text, of another structure"
    assert write(named(n={"function": "count"}, m={"expression": "n + 1 -- m"}, o={"function": "count"})) is None


def test_a_query_of_a_word_that_is_a_clause_has_no_text():
    assert write(named(n={"function": "count"}, m={"expression": "n + offset"})) is None
    assert write({"kind": "emd_join"}) is None


def test_derived_columns_stand_in_the_text_where_their_order_allows_it():
    texts = {generated_name(text): text for text in ("a / 2", "b / 2")}
    first, second = texts
    ordered = named(n={"function": "sum", "column": first}, m={"function": "sum", "column": second})
    ordered["streams"] = {"events": STREAM | {"columns": texts}}
    assert "sum(a / 2) AS n" in write(ordered).sql
    assert write(ordered).beside["streams"] == {"events": STREAM}
    ordered["streams"] = {"events": STREAM | {"columns": {name: texts[name] for name in (second, first)}}}
    assert f"sum({first}) AS n" in write(ordered).sql
    assert write(ordered).beside["streams"] == ordered["streams"]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("country", "country"),
        ("größe", "größe"),
        ("my code", "`my code`"),
        ("from", "`from`"),
        ("a`b", "`a``b`"),
        ("2024_sales", "`2024_sales`"),
        ("window_end", "`window_end`"),
        ("session_window", "`session_window`"),
    ],
)
def test_names_are_quoted_where_they_are_no_plain_words(name, written):
    assert quoted(name) == written


def test_plain_data_of_one_declaration_is_equal_however_it_is_written():
    assert plain({"k": 3, "q": None, "columns": {}, "key": ("a",)}) == plain({"k": "3", "key": ["a"]})
