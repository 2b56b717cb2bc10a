"""What SQL text can't say is refused by line and column, with what would be right."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.expressions.errors import ExpressionError
from tailrace.sql.call_forms import FORMS, CallForm
from tailrace.sql.fields_outside import OutsideSqlError
from tailrace.sql.translate import translate

FIELDS = {"streams": {"events": {"event_time": "event_ts", "id": "event_id", "columns": {"net": "amount / 1.19"}}}}
TUMBLE = "TUMBLE(TABLE events, DESCRIPTOR(event_ts), INTERVAL '5' MINUTES)"
BOUNDS = "window_start, window_end"
SESSIONS = "FROM events GROUP BY session_window(event_ts, '1 h')"
GROUPED = f"FROM {TUMBLE} GROUP BY {BOUNDS}"
OVER = f"row_number() OVER (PARTITION BY {BOUNDS} ORDER BY price DESC) AS rank"
COUNT = f"SELECT count(*) AS n {GROUPED}"

STATEMENTS = [
    ("¦", "it is empty", "SELECT …"),
    ("¦INSERT INTO a SELECT 1", "begins with INSERT", "SELECT"),
    (f"{COUNT}; ¦SELECT 1", "a second statement", "one SELECT"),
    (f"SELECT ¦DISTINCT country {GROUPED}", "SELECT DISTINCT", "count(DISTINCT …)"),
    ("SELECT count(*) AS n¦", "FROM is missing", "FROM stream"),
    ("SELECT count(¦e.*) AS n FROM events e GROUP BY window(event_ts, '1 h')", "e.* in a function", "count(*)"),
    (
        "SELECT ¦window(event_ts, '1 h'), count(*) AS n FROM events GROUP BY window(event_ts, '2 h')",
        "rows are grouped by other windows",
        "the same windows in both",
    ),
    (f"SELECT ¦window(event_ts, '1 h'), count(*) AS n {GROUPED}", "grouped by other windows", "window_start"),
    (f"{COUNT} HAVING n > 1 AND ¦country = 'DE'", "country is neither", "WHERE, by a column of the stream"),
    (f"{COUNT} HAVING ¦N > 3", "N is neither", "n; or max(N)"),
    (f"SELECT sum(x) {GROUPED} HAVING ¦value > 3", "value is neither", "max(value)"),
    (f"{COUNT} HAVING ¦lag(n) > 1", "lag is no aggregate", "first, last"),
    (f"{COUNT} HAVING n > 1 ¦WHERE x > 1", "WHERE stands after HAVING", "then HAVING"),
    (f"SELECT ¦count(*), sum(x) AS n {GROUPED} HAVING n > 1", "has no name", "count(*) AS name"),
    (f"SELECT sum(x) AS `having` {GROUPED} HAVING ¦count(*) > 1", "an aggregate is named having", "another name"),
    (f"SELECT * FROM (SELECT *, {OVER} FROM {TUMBLE}) WHERE rank <= 3 HAVING ¦rank > 1", "HAVING without", "WHERE"),
    (f"{COUNT}\n¦ORDER BY n", "ORDER BY", "row_number()"),
    (f"{COUNT} ¦LIMIT 3", "LIMIT", "row_number()"),
    (f"{COUNT} ¦UNION ALL {COUNT}", "a second SELECT", "a file of its own"),
    (f"SELECT count(*) AS n FROM {TUMBLE} GROUP BY {BOUNDS} ¦WHERE a > 1", "WHERE stands after GROUP BY", "then WHERE"),
    (f"SELECT count(*) AS n FROM {TUMBLE} WHERE ¦GROUP BY {BOUNDS}", "nothing stands after WHERE", "no WHERE"),
    (f"SELECT count(*) AS n,¦ {GROUPED}", "nothing stands before a comma", "a column"),
    (f"SELECT count(*) AS ¦3 {GROUPED}", "3 is no name", "AS revenue"),
    (f"SELECT count¦(* AS n {GROUPED}", "is not closed", ")"),
    (f"SELECT sum(x¦] AS n {GROUPED}", "closes what was not opened", "no parenthesis"),
    (f"SELECT count(*)¦) AS n {GROUPED}", "closes what was not opened", "no parenthesis"),
    (f"SELECT count(*) AS n FROM {TUMBLE} WHERE a = ¦'x GROUP BY {BOUNDS}", "not closed", "a quote"),
]
SOURCES = [
    ("SELECT count(*) AS n FROM events, ¦users GROUP BY window(event_ts, '5 min')", "a second table", "one stream"),
    ("SELECT count(*) AS n FROM events ¦JOIN users ON 1 GROUP BY window(event_ts, '5 min')", "a join", "lookup:"),
    ("SELECT count(*) AS n FROM ¦event GROUP BY window(event_ts, '5 min')", "event is no stream", "events"),
    ("SELECT count(*) AS n FROM events ¦e f GROUP BY window(event_ts, '5 min')", "a name for the stream", "country"),
    ("SELECT sum(¦events.x) AS n FROM events e GROUP BY window(e.event_ts, '1 h')", "is named e here", "e.x"),
    ("SELECT count(*) AS n FROM ¦db.events GROUP BY window(event_ts, '5 min')", "in no schema", "the name of"),
    ("SELECT count(*) AS n FROM ¦'events' GROUP BY window(event_ts, '5 min')", "is no stream", "the name of"),
    (f"SELECT count(*) AS n FROM ¦CUMULATE(TABLE events) GROUP BY {BOUNDS}", "windows that grow", "TUMBLE"),
    (f"SELECT count(*) AS n FROM ¦TUMBEL(TABLE events) GROUP BY {BOUNDS}", "no function of windows", "TUMBLE"),
    (f"SELECT count(*) AS n FROM ¦TUMBLE(TABLE events) GROUP BY {BOUNDS}", "has 1 argument", "DESCRIPTOR"),
    (f"SELECT count(*) AS n FROM TUMBLE(¦events, DESCRIPTOR(event_ts), '1 h') GROUP BY {BOUNDS}", "no table", "TABLE"),
    (f"SELECT count(*) AS n FROM TUMBLE(TABLE events, ¦event_ts, '1 h') GROUP BY {BOUNDS}", "no column", "DESCRIPTOR"),
    (
        f"SELECT count(*) AS n FROM TUMBLE(TABLE events, DESCRIPTOR(¦came), '1 h') GROUP BY {BOUNDS}",
        "came is another column",
        "event_ts",
    ),
    ("SELECT count(*) AS n FROM events GROUP BY window(¦came, '5 min')", "another column", "event_ts"),
    ("SELECT count(*) AS n FROM events GROUP BY window(event_ts, ¦5)", "no length of time", "'5 minutes'"),
    ("SELECT count(*) AS n FROM events GROUP BY window(event_ts, ¦'5 fortnights')", "no length", "'5 minutes'"),
    (
        f"SELECT count(*) AS n FROM TUMBLE(TABLE events, DESCRIPTOR(event_ts), ¦INTERVAL '1:30' HOUR TO MINUTE) "
        f"GROUP BY {BOUNDS}",
        "no length of time",
        "INTERVAL '5' MINUTES",
    ),
    ("SELECT count(*) AS n FROM events GROUP BY ¦session_window(event_ts)", "two arguments", "'30 minutes'"),
    (f"SELECT count(*) AS n FROM ¦SESSION(TABLE events, '1 h') GROUP BY {BOUNDS}", "not a table", "PARTITION BY"),
    (
        f"SELECT count(*) AS n FROM SESSION(TABLE events PARTITION BY ¦y, DESCRIPTOR(event_ts), '1 h') "
        f"GROUP BY x, {BOUNDS}",
        "partitioned by y, and rows are not grouped by it",
        "PARTITION BY x",
    ),
    (
        f"SELECT count(*) AS n FROM SESSION(TABLE events, DESCRIPTOR(event_ts), '1 h') GROUP BY ¦x, {BOUNDS}",
        "grouped by x, and SESSION is not partitioned by it",
        "PARTITION BY x",
    ),
    (
        f"SELECT count(*) AS n FROM SESSION(TABLE events PARTITION BY x, DESCRIPTOR(event_ts), '1 h') "
        f"GROUP BY x, ¦y, {BOUNDS}",
        "grouped by y, and SESSION is not partitioned by it",
        "PARTITION BY x, y",
    ),
    (
        f"SELECT count(*) AS n FROM SESSION(TABLE events PARTITION BY ¦x, DESCRIPTOR(event_ts), '1 h') "
        f"GROUP BY X, {BOUNDS}",
        "partitioned by x, and rows are not grouped by it",
        "upper and lower case differ",
    ),
    (
        f"SELECT count(*) AS n FROM SESSION(TABLE events PARTITION BY ¦x, DESCRIPTOR(event_ts), '1 h') "
        f"GROUP BY {BOUNDS}",
        "partitioned by x, and rows are not grouped by it",
        "no PARTITION BY",
    ),
    (
        f"SELECT count(*) AS n FROM SESSION(TABLE events PARTITION BY x, DESCRIPTOR(event_ts), '1 h', ¦'5 min') "
        f"GROUP BY x, {BOUNDS}",
        "no argument after the gap",
        "'30' MINUTES)",
    ),
    (
        f"SELECT count(*) AS n FROM SESSION(TABLE events PARTITION BY x, ¦event_ts, '1 h') GROUP BY x, {BOUNDS}",
        "no column of SESSION",
        "DESCRIPTOR",
    ),
    (
        "SELECT count(*) AS n FROM events\nGROUP BY session_window(event_ts, '1 h', ¦'5 min')",
        "two arguments, and not 3",
        "'30 minutes'",
    ),
    (
        f"SELECT ¦window.start, count(*) AS n {SESSIONS}",
        "window.start is of windows with a size",
        "session_window.start",
    ),
    (
        f"SELECT session_window.start, ¦window AS window, count(*) AS n {SESSIONS}",
        "window is of windows with a size, and rows are grouped by sessions",
        "session_window",
    ),
    (
        "SELECT count(*) AS n,\n ¦session_window.END FROM events GROUP BY window(event_ts, '1 h')",
        "session_window.END is of sessions, and rows are grouped by windows with a size",
        "window.END",
    ),
    (f"SELECT ¦session_window, count(*) AS n {GROUPED}", "session_window is of sessions", "window"),
    (
        f"SELECT count(*) AS n {SESSIONS}, ¦window.start",
        "window.start is of windows with a size",
        "session_window.start",
    ),
    (
        "SELECT count(*) AS n FROM events GROUP BY ¦session_window(event_ts, '1 h'), window_end",
        "window_end beside session_window(…)",
        "session_window(…) alone",
    ),
    (
        "SELECT count(*) AS n FROM events GROUP BY ¦session_window(event_ts, '1 h'), window(event_ts, '1 h')",
        "two sorts",
        "one window(…), or one session_window(…)",
    ),
    (
        f"SELECT count(*) AS n FROM {TUMBLE} GROUP BY ¦{BOUNDS}, session_window(event_ts, '1 h')",
        "two sorts",
        "no session_window(…)",
    ),
    (
        f"SELECT ¦session_window AS visit, count(*) AS n {SESSIONS}",
        "by their own names",
        "session_window.start AS window_start, session_window.end AS window_end",
    ),
    (
        f"SELECT ¦session_window(event_ts, '2 h'), count(*) AS n {SESSIONS}",
        "grouped by other windows",
        "window_start, window_end",
    ),
    (
        f"SELECT count(*) AS n, ¦session_window.end - session_window.start AS length {SESSIONS}",
        "an expression over session_window",
        "min(event_ts) and max(event_ts)",
    ),
    (
        "SELECT count(*) AS n FROM events GROUP BY session_window(event_ts, ¦'1 month')",
        "has no fixed length",
        "'30 days'",
    ),
    (
        f"SELECT * FROM (SELECT *, {OVER} FROM SESSION(TABLE events, DESCRIPTOR(event_ts), ¦'1 h')) WHERE rank <= 3",
        "first rows of each session",
        "TUMBLE(…)",
    ),
    (f"{COUNT} HAVING n > 1 AND ¦window_end > 1", "an expression over window_end", "where answers are read"),
    (
        f"SELECT count(*) AS n FROM SESSION(¦TABLE events ORDER BY x, DESCRIPTOR(event_ts), '1 h') GROUP BY {BOUNDS}",
        "no table of SESSION",
        "PARTITION BY",
    ),
    ("SELECT count(*) AS n FROM events GROUP BY ¦window(event_ts)", "two to four arguments", "'5 minutes'"),
    ("SELECT count(*) AS n FROM events¦", "there are no windows", "TUMBLE"),
    ("SELECT count(*) AS n FROM events GROUP BY ¦country", "there are no windows", "GROUP BY window"),
    (f"SELECT count(*) AS n FROM {TUMBLE} GROUP BY ¦window_start", "window_end is not", "window_end"),
    (f"SELECT count(*) AS n FROM {TUMBLE} GROUP BY ¦{BOUNDS}, window(event_ts, '1 h')", "two sorts", "no window(…)"),
    ("SELECT count(*) AS n FROM events GROUP BY ¦window(event_ts, '1 h'), window_start", "beside window", "alone"),
    (f"SELECT ¦window_start AS start, count(*) AS n {GROUPED}", "by their own names", "window_start, without"),
]
LISTS = [
    (f"SELECT ¦* {GROUPED}", "* among aggregates", "count(*) AS number"),
    (f"SELECT country {GROUPED}, country¦", "there is no aggregate", "count(*)"),
    (f"SELECT ¦country, count(*) AS n {GROUPED}", "neither a group nor an aggregate", "GROUP BY …, country"),
    (f"SELECT ¦`a b`, count(*) AS n {GROUPED}", "neither a group nor an aggregate", "GROUP BY …, `a b`; or max(`a b`)"),
    (f"SELECT ¦`a b` + 1 AS s, count(*) AS n {GROUPED}", "a b is neither in an aggregate", "max(`a b`)"),
    (f"SELECT ¦a b AS s, count(*) AS n {GROUPED}, s", "a second expression", "`a b` in backticks"),
    (f"SELECT count(*) AS n {GROUPED}, ¦a b", "a second expression", "`a b` in backticks"),
    (f"SELECT count(*) AS n, ¦sum(x) {GROUPED}", "has no name in the answers", "sum(x) AS name"),
    (f"SELECT count(*) AS n, sum(x) AS ¦n {GROUPED}", "two columns are named n", "of its own"),
    (f"SELECT ¦summ(x) AS n {GROUPED}", "no function summ", "sum"),
    (f"SELECT ¦listagg(x) AS n {GROUPED}", "no aggregate of a query", "collect_list(column)"),
    (f"SELECT ¦string_agg(x, ',') AS n {GROUPED}", "no aggregate of a query", "collect_list(column)"),
    (f"SELECT ¦kurtosis(x) AS n {GROUPED}", "no aggregate of a query", "docs/aggregates.md has all"),
    (f"SELECT country ¦sum(x) AS n {GROUPED}, country", "no comma stands before sum", "country, sum(x)"),
    (f"SELECT sum(x) ¦count(*) AS n {GROUPED}", "no comma stands before count", "sum(x), count(*)"),
    *(
        (f"SELECT ¦{call} AS n {GROUPED}", f"{call} is no count", remedy)
        for call, remedy in (
            *((f"count({text})", "count(*), or count(column)") for text in ("1, 2", "*, 1", "*, *", "* x")),
            ("estimate_count(1, 2)", "estimate_count(*), or estimate_count(column)"),
        )
    ),
    (f"SELECT ¦count(a, b) AS n {GROUPED}", "count(a, b) has 2 arguments", "count(*), or count(column)"),
    (f"SELECT ¦count_if() AS n {GROUPED}", "count_if() has 0 arguments", "count_if(column > 0)"),
    (f"SELECT ¦count_if(DISTINCT x) AS n {GROUPED}", "of distinct values", "count(DISTINCT column) FILTER (WHERE "),
    (f"SELECT ¦estimate_sum(DISTINCT x) AS n {GROUPED}", "of distinct", "(column), or sum(DISTINCT column)"),
    (
        f"SELECT ¦approx_count_distinct(DISTINCT x) AS n {GROUPED}",
        "DISTINCT twice",
        "approx_count_distinct(column), or count(DISTINCT column)",
    ),
    (f"SELECT ¦collect_list(x, y) AS n {GROUPED}", "y is no limit of collect_list", "of at most 100 values"),
    (f"SELECT ¦array_agg(DISTINCT x) AS n {GROUPED}", "of distinct values", "collect_set(column)"),
    (f"SELECT array_agg(¦x ORDER BY y) AS n {GROUPED}", "an order of a list", "array_agg(column, 1000)"),
    (f"SELECT ¦approx_percentile(x, 0.5) AS n {GROUPED}", "no aggregate of a query", "percentile(column, 0.9)"),
    (f"SELECT sum(x) ¦OVER (PARTITION BY y) AS n {GROUPED}", "rows of others", "no OVER"),
    (f"SELECT ¦max(DISTINCT x) AS n {GROUPED}", "of distinct values", "sum(DISTINCT column)"),
    (f"SELECT ¦percentile_cont(x, 0.9) AS n {GROUPED}", "without WITHIN GROUP", "percentile_cont(0.9) WITHIN GROUP (O"),
    (f"SELECT avg(x) ¦WITHIN GROUP (ORDER BY x) AS n {GROUPED}", "which avg lacks", "percentile_cont"),
    (f"SELECT percentile_cont(0.9) ¦WITHIN GROUP (x) AS n {GROUPED}", "without its order", "(ORDER BY column)"),
    (f"SELECT ¦percentile_disc(y) WITHIN GROUP (ORDER BY x) AS n {GROUPED}", "y is no share", "WITHIN GROUP (O"),
    *(
        (f"SELECT ¦percentile_cont({share}) WITHIN GROUP (ORDER BY {order}) AS n {GROUPED}", "takes one share", "(0.9)")
        for share, order in (("0.9", "x, y"), ("", "x"), ("", "x, 0.9"), ("0.9", ""), ("0.9, 1", "x"))
    ),
    (f"SELECT ¦percentile_disc(0.9) WITHIN GROUP (ORDER BY x DESC) AS n {GROUPED}", "of descending", "0.1"),
    (f"SELECT ¦percentile(x, array(0.5, 0.95)) {GROUPED}", "has no name in the answers", "array(0.5, 0.95)) AS name"),
    (f"SELECT ¦percentile(x, array(0.5, 0.95), 100) AS n {GROUPED}", "3 arguments", "percentile(column, 0.9)"),
    (f"SELECT percentile(x, array(0.5, ¦1.5)) AS n {GROUPED}", "1.5 is no share of the numbers", "less than 1: 0.9"),
    (f"SELECT percentile_cont(¦1) WITHIN GROUP (ORDER BY x DESC) AS n {GROUPED}", "1 is no share", "less than 1: 0.9"),
    (f"SELECT ¦percentile(x, array()) AS n {GROUPED}", "2 arguments", "percentile(column, 0.9)"),
    (f"SELECT ¦percentile(x, array) AS n {GROUPED}", "array is no share of percentile", "percentile(column, 0.9)"),
    (f"SELECT ¦percentile(x, array(0.5, y)) AS n {GROUPED}", "y is no share of percentile", "percentile(column, 0.9)"),
    (f"SELECT ¦percentile(DISTINCT x, [0.5, 0.95]) AS n {GROUPED}", "of distinct values", "percentile(column, 0.9)"),
    (f"SELECT ¦quantile_disc(x, 0.9) AS n {GROUPED}", "is no aggregate", "percentile_disc(0.9) WITHIN"),
    (f"SELECT ¦corr(x) AS n {GROUPED}", "corr(x) has 1 argument", "corr(column, column)"),
    (f"SELECT ¦corr(DISTINCT x, y) AS n {GROUPED}", "corr of distinct values", "corr(column, column)"),
    (f"SELECT ¦sum(x, y) AS n {GROUPED}", "2 arguments", "sum(column)"),
    (f"SELECT ¦percentile(x, y) AS n {GROUPED}", "y is no share of percentile", "0.9"),
    (f"SELECT ¦max_by(x) AS n {GROUPED}", "max_by(x) has 1 argument", "max_by(column, column)"),
    (f"SELECT ¦any_value(x, true) AS n {GROUPED}", "2 arguments", "any_value(column)"),
    (f"SELECT sum(x) ¦FILTER (y > 1) AS n {GROUPED}", "without its condition", "FILTER (WHERE …)"),
    (f"SELECT count(*) AS n,\n  ¦sum(x) / count(*) {GROUPED}", "has no name", "sum(x) / count(*) AS name"),
    (f"SELECT ¦round(avg(x), 2) {GROUPED}", "round(avg(x), 2) has no name", "round(avg(x), 2) AS name"),
    (f"SELECT 1 + sum(¦avg(x)) AS n {GROUPED}", "avg(x) stands within sum", "avg(x) alone"),
    (f"SELECT sum(x) FILTER (WHERE ¦max(y) > 1) / 2 AS n {GROUPED}", "max(y) stands within sum", "second query"),
    (f"SELECT 1 + ¦lag(x) AS n {GROUPED}", "lag is no aggregate", "first, last"),
    (f"SELECT 1 + sum(x) ¦OVER (PARTITION BY y) AS n {GROUPED}", "rows of others", "no OVER"),
    (f"SELECT sum(x) +\n ¦sqr(y) AS n {GROUPED}", "no function sqr", "sqrt"),
    (f"SELECT sum(x) AS n FROM {TUMBLE} WHERE y AND ¦sum(x) > 1 GROUP BY {BOUNDS}", "in WHERE", "sum(x) AS name"),
    (f"SELECT count(*) AS n, n / ¦amount AS rate {GROUPED}", "amount is neither", "max(amount), which"),
    (f"SELECT sum(¦sqr(x)) AS n {GROUPED}", "no function sqr", "sqrt"),
    (f"SELECT count(*) AS n FROM {TUMBLE} WHERE a\n > ¦rand() GROUP BY {BOUNDS}", "chance", "a column of the source"),
    (f"SELECT x, count(*) AS n {GROUPED}, ¦0", "the number 0, and the list has 2 columns", "1 to 2"),
    (f"SELECT count(*) AS n {GROUPED}, ¦2", "the number 2, and the list has 1 column", "1 to 1"),
    (f"SELECT count(*) AS n {GROUPED}, ¦1.0", "the number 1.0", "a column"),
    (f"SELECT x, 2 * sum(y) AS n {GROUPED}, ¦2", "column 2 of the list is 2 * sum(y), an aggregate", "that is none"),
    (f"SELECT *, count(*) AS n {GROUPED}, ¦1", "column 1 of the list is *", "by its name"),
    ("SELECT ¦window(event_ts, '1 h') AS w, count(*) AS n FROM events GROUP BY 1", "by their own names", "window.st"),
    (f"SELECT count(*) AS n {GROUPED}, ¦'country'", "a group by a text", "`in backquotes`"),
    (f"SELECT count(*) AS n {GROUPED}, ¦lower(x)", "has no name", "SELECT lower(x) AS name"),
    (f"SELECT count(*) AS n {GROUPED} ¦WITH ROLLUP", "several groupings", "once"),
    (f"SELECT count(*) AS n FROM {TUMBLE} GROUP BY ¦CUBE(a, b)", "several groupings", "once"),
    (f"SELECT count(*) AS n {GROUPED}, ¦GROUPING SETS ((a))", "several groupings", "once"),
    (f"SELECT ¦/*+ COALESCE(1) */ count(*) AS n {GROUPED}", "a hint", "no hint"),
    (f"SELECT count(*) AS n {GROUPED}, x, ¦x", "stands twice", "once"),
    (f"SELECT lower(x) AS x, count(*) AS n {GROUPED}, ¦x", "the stream's column, as in Spark", "GROUP BY lower(x)"),
    (f"SELECT lower(x) AS x, count(¦x) AS n {GROUPED}, lower(x)", "x reads x", "another name than x"),
    (f"SELECT lower(x) AS ¦event_ts, count(*) AS n {GROUPED}, lower(x)", "by its declaration", "another name"),
    (f"SELECT lower(x) AS ¦net, count(*) AS n {GROUPED}, lower(x)", "by its declaration", "another name"),
    (f"SELECT x AS ¦key, y, count(*) AS n {GROUPED}, x, y", "a key of one column", "one column in GROUP BY"),
    (f"SELECT x, ¦count(*) AS x {GROUPED}, x", "are named x", "another name than x"),
]
TOP_N = [
    (f"SELECT * FROM (SELECT ¦* FROM {TUMBLE}) WHERE x > 1", "no top-n", "row_number()"),
    (f"SELECT count(*) AS n FROM (SELECT *, {OVER} FROM {TUMBLE}) GROUP BY ¦x", "beside a subquery", "windows over"),
    (f"SELECT * FROM (SELECT *, {OVER} FROM {TUMBLE})¦", "no WHERE bounds rank", "WHERE rank <= 5"),
    (f"SELECT * FROM (SELECT *, {OVER} FROM {TUMBLE}) WHERE ¦rank >= 5", "no bound of rank", "rank <= 5"),
    (f"SELECT * FROM (SELECT *, {OVER} FROM {TUMBLE}) WHERE ¦rank <= 5 AND x", "no bound of rank", "in the subquery"),
    (f"SELECT * FROM (SELECT *, {OVER} FROM (SELECT ¦1 FROM events)) WHERE rank <= 5", "1 has no name", "1 AS name"),
    (
        f"SELECT * FROM (SELECT *, ¦dense_rank() OVER (PARTITION BY {BOUNDS} ORDER BY x) AS r FROM {TUMBLE}) "
        "WHERE r < 2",
        "which of equal tuples",
        "row_number()",
    ),
    (
        f"SELECT * FROM (SELECT *, ¦row_number(1) OVER (PARTITION BY x ORDER BY x) AS r FROM {TUMBLE}) WHERE r < 2",
        "takes no argument",
        "row_number()",
    ),
    (
        f"SELECT * FROM (SELECT *, row_number() OVER (¦ORDER BY x) AS r FROM {TUMBLE}) WHERE r < 2",
        "not of each window",
        "PARTITION BY window_start",
    ),
    (
        f"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY ¦x ORDER BY x) AS r FROM {TUMBLE}) WHERE r < 2",
        "window_start is not",
        "window_start, window_end",
    ),
    (
        f"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY {BOUNDS} ORDER BY x, ¦y) AS r FROM {TUMBLE}) "
        "WHERE r < 2",
        "ties by another column",
        "event_id",
    ),
    (
        f"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY {BOUNDS} ORDER BY x ¦NULLS LAST) AS r "
        f"FROM {TUMBLE}) WHERE r < 2",
        "an order of nulls",
        "no NULLS",
    ),
    (f"SELECT ¦price * 2 FROM (SELECT *, {OVER} FROM {TUMBLE}) WHERE rank <= 2", "no column of the answers", "price"),
    (f"SELECT * FROM (SELECT ¦price + 1, {OVER} FROM {TUMBLE}) WHERE rank <= 2", "no column of", "price + 1 AS a name"),
    (
        f"SELECT ¦place AS p FROM (SELECT lower(venue) AS place, {OVER} FROM {TUMBLE}) WHERE rank <= 2",
        "gets a second name",
        "AS p where place is named",
    ),
]


PAID = "WITH paid AS (SELECT *, amount / 2 AS half FROM events)"
FROM_PAID = "FROM paid GROUP BY window(event_ts, '5 min')"
READ_PAID = f"SELECT count(*) AS n {FROM_PAID}"
FEW = "SELECT event_ts, country, amount / 2 AS half FROM events"
SELECTS = [
    ("WITH¦", "WITH without a name", "WITH paid AS (SELECT *"),
    ("WITH ¦3 AS (SELECT * FROM events) SELECT 1", "WITH without a name", "WITH paid AS (SELECT *"),
    ("WITH ¦RECURSIVE paid AS (SELECT * FROM events) SELECT 1", "WITH without a name", "WITH paid AS (SELECT *"),
    ("WITH ¦paid(a) AS (SELECT * FROM events) SELECT 1", "WITH without a name", "WITH paid AS (SELECT *"),
    ("WITH ¦paid AS SELECT * FROM events", "WITH without a name", "WITH paid AS (SELECT *"),
    (f"{PAID}, ¦paid AS (SELECT * FROM paid) {READ_PAID}", "names two SELECTs paid", "a name of its own"),
    (
        f"WITH paid AS (SELECT * FROM events), ¦open AS (SELECT * FROM paid) {READ_PAID}",
        "open is not read",
        "FROM open",
    ),
    (
        f"WITH ¦open AS (SELECT * FROM events), paid AS (SELECT * FROM events) {READ_PAID}",
        "open is not read",
        "no open",
    ),
    (
        f"{PAID}, a AS (SELECT * FROM paid), ¦b AS (SELECT * FROM paid) {READ_PAID.replace('paid', 'a')}",
        "b is not",
        "b",
    ),
    (f"{PAID} SELECT count(*) AS n FROM ¦piad GROUP BY window(event_ts, '5 min')", "piad is no stream", "paid"),
    (
        f"WITH paid AS (SELECT * FROM ¦later), later AS (SELECT * FROM events) {READ_PAID}",
        "later is no stream",
        "events",
    ),
    (f"WITH paid AS (SELECT * FROM ¦paid) {READ_PAID}", "paid is no stream", "events"),
    (
        f"WITH paid AS (¦WITH a AS (SELECT * FROM events) SELECT * FROM a) {READ_PAID}",
        "begins with WITH",
        "in its place",
    ),
    (f"WITH paid AS (SELECT * FROM events ¦JOIN users) {READ_PAID}", "a join", "one stream"),
    (
        f"WITH paid AS (SELECT * FROM events ¦UNION ALL SELECT * FROM events) {READ_PAID}",
        "a second SELECT",
        "one SELECT",
    ),
    (f"WITH paid AS (SELECT * FROM events ¦ORDER BY x) {READ_PAID}", "ORDER BY", "no such clause"),
    (f"WITH paid AS (SELECT * FROM events ¦LIMIT 3) {READ_PAID}", "LIMIT", "no such clause"),
    (f"WITH paid AS (SELECT ¦DISTINCT x FROM events) {READ_PAID}", "SELECT DISTINCT", "no such word"),
    (f"WITH paid AS (SELECT x FROM events GROUP BY ¦x) {READ_PAID}", "GROUP BY in paid", "groups in the last SELECT"),
    (
        f"WITH paid AS (SELECT ¦count(*) AS n FROM events) {READ_PAID}",
        "count is an aggregate",
        "aggregate: {function: …}",
    ),
    (f"WITH paid AS (SELECT * FROM ¦{TUMBLE}) {READ_PAID}", "windows in paid", "FROM events here"),
    (f"WITH paid AS (SELECT * FROM events, ¦users) {READ_PAID}", "a second table", "one stream"),
    (f"WITH paid AS (SELECT ¦amount / 2 FROM events) {READ_PAID}", "has no name", "amount / 2 AS name"),
    (f"WITH paid AS (SELECT *, ¦* FROM events) {READ_PAID}", "no list of columns", "*, once"),
    (f"WITH paid AS (SELECT ¦* EXCEPT (x) FROM events) {READ_PAID}", "no list of columns", "by their names"),
    (f"WITH paid AS (SELECT x, ¦y AS x FROM events) {READ_PAID}", "two columns are named x", "of its own"),
    (f"WITH paid AS (SELECT *, ¦x FROM events) {READ_PAID}", "x stands beside *", "no *"),
    (f"WITH paid AS (SELECT *, lower(x) AS ¦x FROM events) {READ_PAID}", "x stands beside *", "another name than x"),
    (f"WITH a AS ({FEW}), paid AS (SELECT *, 1 AS ¦country FROM a) {READ_PAID}", "country stands beside *", "no *"),
    (f"{PAID}, b AS (SELECT *, 3 AS ¦half FROM paid) {READ_PAID.replace('paid', 'b')}", "half stands beside *", "no *"),
    (
        f"WITH a AS ({FEW}), paid AS (SELECT event_ts, 3 AS ¦half FROM a) {READ_PAID}",
        "named half already",
        "another name",
    ),
    (f"WITH paid AS (SELECT *, x AS ¦event_id FROM events) {READ_PAID}", "by its declaration", "another name"),
    (f"WITH paid AS (SELECT *, x AS ¦net FROM events) {READ_PAID}", "by its declaration", "another name"),
    (f"WITH paid AS (SELECT *, x AS ¦Window_Start FROM events) {READ_PAID}", "a bound of windows", "another name"),
    (
        f"WITH paid AS (SELECT *, x + 1 AS y, ¦y * 2 AS z FROM events) {READ_PAID}",
        "y * 2 reads y",
        "in a SELECT from paid",
    ),
    (
        f"WITH paid AS (SELECT *, x + 1 AS y FROM events WHERE ¦y > 1) {READ_PAID}",
        "y > 1 reads y",
        "in a SELECT from paid",
    ),
    (
        f"WITH paid AS (SELECT event_ts, x + 1 AS x FROM events WHERE ¦x > 1) {READ_PAID}",
        "x > 1 reads x",
        "another name",
    ),
    (
        f"WITH a AS (SELECT * FROM events WHERE ¦y > 1), paid AS (SELECT *, x + 1 AS y FROM a) {READ_PAID}",
        "y > 1 reads y",
        "another name than y",
    ),
    (
        "WITH a AS (SELECT * FROM events WHERE ¦x = 'a') SELECT lower(x) AS x, count(*) AS n "
        "FROM a GROUP BY window(event_ts, '5 min'), lower(x)",
        "x = 'a' reads x",
        "another name than x",
    ),
    (f"{PAID} SELECT lower(x) AS ¦half, count(*) AS n {FROM_PAID}, lower(x)", "named half already", "another name"),
    (f"WITH paid AS ({FEW}) SELECT sum(¦amount) AS n {FROM_PAID}", "paid has no column amount", "in the list of paid"),
    (f"WITH paid AS ({FEW}) SELECT sum(1 +\n 2 * ¦hlaf) AS n {FROM_PAID}", "paid has no column hlaf", "half; or"),
    (f"WITH paid AS ({FEW}) SELECT count(*) AS n {FROM_PAID}, ¦status", "paid has no column status", "one of event_ts"),
    (f"WITH paid AS ({FEW}) SELECT count(*) FILTER (WHERE ¦code > 1) AS n {FROM_PAID}", "no column code", "one of"),
    (
        f"WITH paid AS (SELECT country FROM events) {READ_PAID.replace('event_ts', '¦event_ts')}",
        "no column event_ts",
        "or",
    ),
    (
        f"WITH paid AS ({FEW}), b AS (SELECT half FROM paid WHERE ¦code > 1) {READ_PAID.replace('paid', 'b')}",
        "paid has",
        "one",
    ),
    (
        f"SELECT sum(¦amount) AS n FROM ({FEW}) GROUP BY window(event_ts, '5 min')",
        "the subquery has no column amount",
        "or",
    ),
    (
        f"SELECT sum(¦events.half) AS n FROM ({FEW}) p GROUP BY window(event_ts, '5 min')",
        "name of its table: events.half",
        "half",
    ),
    (
        f"{PAID}, b AS (SELECT * FROM paid) SELECT sum(¦paid.half) AS n {FROM_PAID.replace('paid', 'b')}",
        "name of its table: paid.half",
        "half",
    ),
    (f"{PAID} SELECT sum(¦events.x) AS n {FROM_PAID}", "name of its table: events.x", "x"),
    (f"{PAID} SELECT count(*) AS n {FROM_PAID}, ¦events.x", "name of its table: events.x", "x"),
    (
        f"WITH ranked AS (SELECT *, {OVER} FROM {TUMBLE}), ¦b AS (SELECT * FROM ranked) "
        "SELECT * FROM ranked WHERE rank < 3",
        "b is not read",
        "no b",
    ),
    (
        f"WITH paid AS ({FEW}) SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY window(event_ts, '1 h') "
        "ORDER BY half, ¦event_id) AS r FROM paid) WHERE r < 2",
        "paid has no column event_id",
        "event_id in the list",
    ),
]


@pytest.mark.parametrize(("marked", "fault", "remedy"), STATEMENTS + SOURCES + LISTS + TOP_N + SELECTS)
def test_what_a_query_cannot_say_is_refused_at_its_place(marked, fault, remedy):
    before, _, after = marked.partition("¦")
    lines = before.split("\n")
    with pytest.raises(ExpressionError) as refused:
        translate(before + after, FIELDS)
    error = refused.value
    assert fault in error.fault
    assert remedy in error.remedy
    assert error.position == (len(lines), len(lines[-1]) + 1)


@pytest.mark.parametrize(
    ("call", "fault", "remedy"),
    [
        ("percentile(x)", "percentile(x) has 1 argument", "percentile(column, 0.9)"),
        *(
            (
                f"{name}(DISTINCT x)",
                fault,
                "collect_set(column), of at most 100 values; or collect_set(column, 1000)",
            )
            for name, fault in (
                ("collect_list", "collect_list of distinct values"),
                ("collect_set", "DISTINCT twice"),
            )
        ),
    ],
)
def test_a_refusal_of_a_call_names_nothing_else(call, fault, remedy):
    error = refusal(f"SELECT {call} AS n {GROUPED}")
    assert error is not None
    assert (error.fault, error.remedy) == (fault, remedy)


def test_a_registered_function_is_called_although_other_systems_have_one_of_its_name(monkeypatch):
    text = f"SELECT mode(x) AS n {GROUPED}"
    assert refusal(text) is not None
    monkeypatch.setitem(FORMS, ("mode", False), CallForm("max", "mode(column)"))
    assert refusal(text) is None


def test_selects_on_top_of_each_other_have_a_limit():
    sql = f"SELECT count(*) AS n FROM {'(SELECT * FROM ' * 150}events{')' * 150} GROUP BY window(event_ts, '1 h')"
    with pytest.raises(ExpressionError, match="more than 100 SELECTs"):
        translate(sql, FIELDS)


@pytest.mark.parametrize(
    ("changes", "path", "fault"),
    [
        ({"kind": "topk"}, ("kind",), "of kind aggregate"),
        ({"aggregate": {"function": "sum"}}, ("aggregate",), "beside sql"),
        ({"spatial_join": {}}, ("spatial_join",), "beside sql"),
        ({"window": "5 min"}, ("window",), "sql says the window"),
        ({"window": {"size": "5 min"}}, ("window",), "sql says the window"),
        ({"topk": {"method": "sma"}}, ("topk",), "of kind aggregate"),
        ({"streams": {"events": {"event_time": "event_ts", "key": "x"}}}, ("streams", "events", "key"), "key already"),
        ({"streams": {"events": {"event_time": "event_ts", "where": "x"}}}, ("streams", "events", "where"), "where al"),
    ],
)
def test_a_field_that_says_what_the_text_says_is_refused_by_its_path(changes, path, fault):
    with pytest.raises(OutsideSqlError) as refused:
        translate(COUNT, FIELDS | changes)
    assert refused.value.path == path
    assert fault in refused.value.fault


@pytest.mark.parametrize("streams", [None, "events", {}, {"a": {}, "b": {}}, {"events": None}, {"events": {}}])
def test_wrong_streams_are_left_to_the_models(streams):
    assert translate(COUNT, {"streams": streams}).fields["kind"] == "aggregate"


RIGHT = [
    f"SELECT lower(a) AS b, window_start, sum(x / 2) AS n, count(DISTINCT y) FILTER (WHERE z > 1) AS m, n / m AS r "
    f"FROM {TUMBLE} WHERE u = 'v' GROUP BY {BOUNDS}, lower(a)",
    "SELECT window.start, key, percentile(x, 0.5) FROM events "
    "GROUP BY window(event_ts, '1 h', INTERVAL '5' MINUTES), `key`;",
    f"SELECT * FROM (SELECT *, {OVER} FROM TABLE({TUMBLE}) WHERE x[0] > 1) AS t WHERE rank <= 3",
    "SELECT session_window.start, x, count(*) AS n FROM events GROUP BY session_window(event_ts, '1 h'), x",
    f"SELECT count(*) AS n FROM SESSION(TABLE events PARTITION BY x, y, DESCRIPTOR(event_ts), '1 h') "
    f"GROUP BY {BOUNDS}, x, y",
    f"SELECT a * 2 AS x, b.c AS d, * FROM (SELECT (y + 1) AS a, b, {OVER} FROM {TUMBLE}) t WHERE rank <= 3",
]
RIGHT += [
    f"{PAID}, few AS (SELECT event_ts, half FROM paid WHERE x > 1 OR y) SELECT sum(half) AS n FROM few "
    "GROUP BY window(event_ts, '1 h')",
    f"SELECT country, max(half) AS n FROM ({FEW}) AS p WHERE half > 1 GROUP BY window(event_ts, '1 h'), country",
    "SELECT e.country, max(e.half) AS n FROM events AS e WHERE e.x IS NOT DISTINCT FROM e.y GROUP BY "
    "window(e.event_ts, '1 h'), 1",
]
TOKENS = [re.findall(r"'[^']*'|`[^`]*`|\w+|\S", sql) for sql in RIGHT]
STRAYS = [
    *"(),;.*[]'`-",
    "AS",
    "FROM",
    "OVER",
    "FILTER",
    "INTERVAL",
    "window",
    "x",
    "1",
    "--",
    "/*",
    "DISTINCT",
    "key",
    "WITH",
]


@drawn(500)
@given(st.data())
def test_a_text_with_a_slip_is_taken_or_refused_in_it_and_never_fails(data: st.DataObject) -> None:
    tokens = [*data.draw(st.sampled_from(TOKENS))]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(tokens) - 1))
        tokens[place : place + data.draw(st.integers(0, 2))] = data.draw(
            st.lists(st.sampled_from(STRAYS), min_size=1, max_size=2)
        )
    sql = " ".join(tokens)
    error = refusal(sql)
    if error is not None:
        assert error.position.line == 1
        assert 1 <= error.position.column <= len(sql) + 1
        assert error.fault
        assert error.remedy


def refusal(sql: str) -> ExpressionError | None:
    try:
        translate(sql, FIELDS)
    except ExpressionError as error:
        return error
    return None


@pytest.mark.parametrize("side", ["both", "leading", "trailing"])
def test_a_side_of_trim_before_an_aggregate_lacks_no_comma(side):
    sections = translate(f"SELECT trim({side} max(a) FROM max(b)) AS short {GROUPED}", FIELDS).fields
    assert "trim" in str(sections["aggregate"]["short"]["expression"]).lower()
