"""The verdicts on the papers' claims: those on the pages follow from the tables beside them."""

from __future__ import annotations

import copy
import json
from importlib import import_module
from pathlib import Path

import pytest

from bench.verdicts import Claim, Outcome, Verdict, outcome_of, unmeasured, verdicts

ROOT = Path(__file__).parents[3]
PAGES = {"000": "emd", "001": "topk", "002": "aggregate", "003": "spatial"}


def claims_of(page):
    return import_module(f"bench.{PAGES[page]}.verdicts").CLAIMS


def tables_of(page):
    return json.loads((ROOT / "docs/results" / f"{page}.json").read_text())


def outcomes(page, tables):
    return {row["its claim"]: row["verdict"].split("**")[1] for row in verdicts(claims_of(page), tables)}


@pytest.mark.parametrize("page", PAGES)
def test_the_template_of_a_page_has_the_verdicts_first(page):
    text = (ROOT / f"tools/bench/{PAGES[page]}/{page}.md").read_text()
    assert text[text.index("\n## ") :].startswith("\n## The paper's claims\n")
    assert text.count("{verdicts}") == 1


@pytest.mark.parametrize(
    ("page", "table", "column", "value", "claim"),
    [
        ("000", "head_gains", "beyond A/A", "a loss", "15 to 40 % fewer"),
        ("001", "methods", "latency s", 1.0, "the latency is higher"),
        ("001", "methods", "accuracy", 0.5, "over run time"),
        ("002", "policies", "corrected", 0.999, "with corrections"),
        ("002", "bursts", "off", 0.051, "the promise"),
        ("003", "lengths", "wait s", 1.0, "the window join's latency"),
        ("003", "table", "points/s", 59_000, "a table join"),
        ("003", "shapes", "× GEOS", 1.0, "common topological relations"),
        ("003", "tasks", "tuples/s", 1.0, "throughput rises steadily up to many tasks"),
    ],
)
def test_other_figures_change_the_verdict(page, table, column, value, claim):
    tables = tables_of(page)
    worse = copy.deepcopy(tables)
    for row in worse[table]:
        row[column] = value
    before, after = (outcomes(page, each) for each in (tables, worse))
    (name,) = [each for each in before if each.startswith(claim)]
    assert before[name] in (Outcome.CONFIRMED, Outcome.PARTLY)
    assert after[name] == Outcome.CONTRADICTED


def test_a_verdict_says_why_where_a_claim_is_not_confirmed():
    claims = [
        Claim("Fig. 1", "rises", lambda tables: Verdict("5%", outcome_of(*tables["holds"]), "two cores")),
        Claim("Fig. 2", "values", unmeasured("no numbers")),
    ]
    found = [verdicts(claims, {"holds": holds}) for holds in ([True, True], [True, False], [False])]
    assert [rows[0]["verdict"] for rows in found] == [
        "**confirmed**",
        "**confirmed in part**: two cores",
        "**contradicted**: two cores",
    ]
    assert found[0][1]["verdict"] == "**not measurable here**: no numbers"
    assert found[0][0]["here"] == "5 %"


def test_each_figure_of_a_paper_has_a_verdict():
    named = {page: {claim.figure for claim in claims_of(page)} for page in PAGES}
    figures = {
        "000": (4, 6, 7, 8, 9, 10, 11, 12, 13, 14),
        "001": (6,),
        "002": (3, 4, 5, 6),
        "003": (11, 12, 13, 14, 15),
    }
    for page, numbers in figures.items():
        text = " ".join(named[page]).replace("Fig. 12, 13", "Fig. 12 Fig. 13")
        assert [number for number in numbers if f"Fig. {number}" not in text] == []


def test_a_part_that_was_not_measured_has_no_verdict():
    tables = tables_of("003") | {"spark_table": [], "latency": []}
    lacking = {name for name, outcome in outcomes("003", tables).items() if outcome == Outcome.NOT_MEASURABLE}
    assert {"9 times the throughput of native", "a latency of 90 ms, 20 ms less than native's"} < lacking
    assert outcomes("003", tables)["a table join of over 60,000 tuples a second at one task"] == Outcome.CONFIRMED
