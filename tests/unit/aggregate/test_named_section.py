"""The section `aggregate` with names: what it takes, and what is refused with which remedy."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from kit.draws.aggregate_files import HEAD, query_of
from tailrace.aggregate.named_section import RESERVED
from tailrace.answers.identity import WINDOW
from tailrace.ground.errors import Refused
from tailrace.kinds import build
from tailrace.query.loading import load, parse
from tailrace.storage.table_schemas import schemas
from tailrace.tables.every import ANSWER_TIMES


def test_answers_have_columns_of_the_names_in_their_order() -> None:
    query = query_of(
        "  revenue: {function: sum, column: net}\n"
        "  purchases: {function: count}\n"
        "  p90: {function: quantile, q: 0.9, column: latency}\n"
    )
    assert build(query).answer.names == [*WINDOW.columns, "revenue", "purchases", "p90", "tuples"]
    assert pickle.loads(pickle.dumps(query)) == query
    assert query.structure()["aggregate.p90.q"] == 0.9
    assert "aggregate.p90.by" not in query.structure(), "it is not set"
    assert "aggregate.function" not in query.structure(), "the section has no function of its own in a file"


@pytest.mark.parametrize(
    ("section", "fault", "remedy"),
    [
        (
            "  total: {function: summ, column: net}\n",
            "revenue.yaml:11: aggregate.total.function: 'summ' is no function",
            "sum",
        ),
        ("  total: {function: sum}\n", "revenue.yaml:11: aggregate.total.column: is missing", "column: speed"),
        ("  total: {function: quantile, column: net}\n", "aggregate.total.q: is missing", "q: 0.9"),
        ("  total: {function: sum, column: net, q: 0.5}\n", "function sum takes no q", "function: quantile"),
        ("  total: {function: quantile, column: net, q: 2}\n", "aggregate.total.q: '2' does not fit", "less than 1"),
        ("  total: {column: net}\n", "aggregate.total.function: is missing", "sum"),
        ("  total: {function: sum, colum: net}\n", "aggregate.total.colum: 'colum' is no field here", "column"),
        *(
            (f"  {name}: {{function: count}}\n", f"have a column {name} already", "another")
            for name in ("time", "window_end")
        ),
        ("  corrected: {function: count}\n", "answers have a column corrected already", "another name"),
        ("  n: {function: count}\n  r: {expression: n / m}\n", "r.expression: at 1:5: no answer has a column m", "n"),
        ("  n: {function: count}\n  r: {expression: n +}\n", "aggregate.r.expression: at 1:", ""),
        ("  n: {function: count}\n  r: {expression: sum(max(n))}\n", "aggregate.r.expression: at 1:5: ", ""),
        (
            "  r: {expression: r + 1}\n",
            "aggregate.r.expression: at 1:1: it is recursive",
            "expressions that stand above it",
        ),
        ("  r: {expression: 1, column: x}\n", "r.column: an expression takes no column", "or an expression"),
        ("  a: {function: max_by, column: net}\n", "revenue.yaml:11: aggregate.a.by: is missing", "by: price (column"),
        ("  a: {function: max_by, by: net}\n", "aggregate.a.column: is missing", "column: speed"),
        (
            "  a: {function: max, column: net, by: x}\n",
            "a.by: function max takes no by",
            "function: min_by or max_by; or",
        ),
        ("  a: {function: corr, column: net}\n", "aggregate.a.other: is missing", "other: load (second"),
        ("  a: {function: max_by, column: net, by: x, other: y}\n", "a.other: function max_by takes no other", "corr"),
        ("  a: {function: collect_set, column: net}\n", "aggregate.a.limit: is missing", "limit: 100"),
        ("  a: {function: collect_set, column: net, limit: 0}\n", "aggregate.a.limit: '0' does not fit", "at least 1"),
        ("  a: {function: max, column: net, limit: 5}\n", "a.limit: function max takes no limit", "collect_list"),
        ("  r: {expression: 'size(collect_set(net, 0))'}\n", "at 1:6: a list of 0 values", "from 1 to 100,000"),
        ("  r: {expression: 1, by: x}\n", "r.by: an expression takes no by", "or an expression"),
        ("  a: {function: every, column: net}\n", "'every' is no function", "bool_and"),
        (
            "  function: bool_or\n  column: net\n",
            "function bool_or needs a name in the answers",
            "bool_or(…) AS answer",
        ),
        ("  n: {function: count, approximate: true}\n", "function count is never approximate", "count_distinct"),
        (
            "  a: {function: avg, column: x, estimate: true}\n",
            "a.estimate: function avg is never estimated: its answers do not grow in step with the tuples that arrive",
            "sum or",
        ),
        ("  r: {expression: 1, estimate: true}\n", "r.estimate: an expression is computed of estimates", "sums and"),
        (
            "  n: {function: count, estimate: true}\n  n_low: {function: count}\n",
            "n_low: the estimate of n has a column n_low, too",
            "another name",
        ),
        ("  function: max\n  column: net\n  estimate: true\n", "function max is never estimated", "sum or count"),
        ("  n: {function: count, where: code >}\n", "aggregate.n.where: at 1:6", ""),
        ("  n: {function: count, where: count(*) > 1}\n", "aggregate.n.where: at 1:1: count is an aggregate", ""),
        ("  Total: {function: count}\n", "aggregate.Total", "a letter"),
        ("  tuples: {function: count}\n", "answers have a column tuples already", "another name"),
        ("  total: {function: count}\n  more: count\n", "aggregate.more", "{function: sum, column: speed}"),
        ("  function: summ\n  column: net\n", "'summ' is no function here", "sum (of"),
        ("  function: by name\n", "'by name ' is no function here", "one of"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place_and_remedy(section: str, fault: str, remedy: str) -> None:
    with pytest.raises(Refused) as refused:
        query_of(section)
    text = str(refused.value)
    assert fault in text
    assert remedy in text.partition("right would be")[2]
    assert "by name" not in text.partition("right would be")[2], "no file can state it"


def test_a_key_and_an_aggregate_of_one_name_are_refused() -> None:
    head = HEAD.replace("key: country", "key: [country]")
    with pytest.raises(Refused, match="country"):
        parse(Path("/queries/revenue.yaml"), f"{head}  country: {{function: count}}\n")


def test_every_name_that_tables_have_is_reserved() -> None:
    """An aggregate of such a name would stand in place of a column, or be taken for a time."""
    kind = build(query_of("  total: {function: sum, column: net}\n"))
    taken = set(schemas(kind)["results"].names) - {"total"}
    assert taken | ANSWER_TIMES <= RESERVED


def test_files_load(tmp_path: Path) -> None:
    file = tmp_path / "revenue.yaml"
    file.write_text(f"{HEAD}  total: {{function: sum, column: net}}\n")
    assert [*load(file).aggregate.each] == ["total"]
