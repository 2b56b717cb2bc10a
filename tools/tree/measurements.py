"""The pages of measurements: the verdicts on the papers' claims, counted, and whether each part was measured."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from bench.emd.report import COMPARED
from bench.report import Report
from bench.verdicts import NOT_MEASURED, Outcome, select, verdicts
from tailrace.ground.errors import Problem

REPORTS: tuple[Report, ...] = tuple(
    import_module(f"bench.{system}.report").REPORT for system in ("emd", "topk", "aggregate", "spatial")
)
_PAGE = "docs/measured.md"
_GAINS = (
    ("fewer exact distances", COMPARED, "exact distances fewer than `shuffle`"),
    ("more throughput", COMPARED, "throughput over `shuffle`"),
    ("less latency", COMPARED, "latency less than `shuffle`'s"),
    ("less latency, p50", ("live",), "latency p50 less than `shuffle`'s"),
)
"""A gain, the parts that have measured it, and how its row begins."""


def tables_of(report: Report, root: Path) -> dict[str, list[dict]]:
    """Return the tables that were measured for a report."""
    return json.loads((root / "docs/results" / f"{report.number}.json").read_text())


def outcomes(report: Report, root: Path) -> dict[str, str]:
    """Return the outcome of each claim of a report, by the claim."""
    return {row["its claim"]: row["verdict"].split("**")[1] for row in verdicts(report.claims, tables_of(report, root))}


def verdict_table(root: Path) -> str:
    """Return a row for each page: how many of its claims have which verdict."""
    rows = [f"| page | {' | '.join(Outcome)} |", f"| --- |{' --- |' * len(Outcome)}"]
    for report in REPORTS:
        counts = Counter(outcomes(report, root).values())
        numbers = " | ".join(str(counts[outcome]) for outcome in Outcome)
        rows.append(f"| [{report.number}](results/{report.number}.md) | {numbers} |")
    return "\n".join(rows)


def verdict_sentence(root: Path) -> str:
    """Return the sentence that counts the verdicts of all pages."""
    counts = Counter(outcome for report in REPORTS for outcome in outcomes(report, root).values())
    confirmed, partly, contradicted, unmeasured = (counts[outcome] for outcome in Outcome)
    return textwrap.fill(
        f"Of the papers' {counts.total()} claims, {confirmed} are confirmed here on two cores, {partly} in part, "
        f"{contradicted} are contradicted and {unmeasured} can't be measured.",
        120,
    )


def results(root: Path) -> Iterator[Problem]:
    """Yield the parts of pages that were not measured, and the plots that are missing."""
    for report in REPORTS:
        tables, page = tables_of(report, root), f"docs/results/{report.number}.md"
        command = f"tools/dev.py bench {report.system} --report docs/results --only"
        measured = [row["part"] for row in tables["measured"]]
        for part in [name for name in report.parts if name not in measured]:
            yield Problem(page, f"its part {part} was not measured", f"{command} {part}")
        for part in [name for name in measured if name not in report.parts]:
            yield Problem(page, f"its part {part} is none of the report", f"no tables of {part} in its JSON")
        text = report.text(tables)
        for word in (NOT_MEASURED, "(not measured)"):
            if word in text:
                yield Problem(page, f"says {word!r}", f"{command} the part that gives it")
        for plot in report.plots:
            lacking = [name for name in plot.tables if name not in tables]
            if lacking:
                yield Problem(page, f"the plot {plot.name} is drawn from {', '.join(lacking)}", ", ".join(tables))
            if not (root / f"docs/results/{report.number}-{plot.name}.png").exists():
                yield Problem(page, f"its plot {plot.name} is missing", f"{command} the part that draws it")


def contradictions(root: Path) -> Iterator[Problem]:
    """Yield the contradicted claims that the page of measurements does not name."""
    text = (root / _PAGE).read_text().lower()
    for report in REPORTS:
        found = outcomes(report, root)
        for claim in report.claims:
            if found[claim.text] == Outcome.CONTRADICTED and f"{report.number}, {claim.figure.lower()}" not in text:
                fault = f"does not say that a claim is contradicted: {claim.text}"
                yield Problem(_PAGE, fault, f"- {report.number}, {claim.figure}: what was measured, and why")


def gains(root: Path) -> Iterator[Problem]:
    """Yield the rows on joins of histograms that do not have the gains of the tables."""
    (report,) = [each for each in REPORTS if each.system == "emd"]
    tables, lines = tables_of(report, root), (root / _PAGE).read_text().splitlines()
    for gain, parts, begin in _GAINS:
        rows = [each for part in parts for each in select(tables[f"{part}_gains"], gain=gain, over="shuffle")]
        percents = [round(100 * each["share median"]) for each in rows]
        least, most = (f"{value}".replace("-", "−") for value in (min(percents), max(percents)))
        judged = Counter(each["beyond A/A"] for each in rows)
        losses = f", {judged['a loss']} loss" if judged["a loss"] else ""
        due = f"medians of {len(rows)} settings | {least} to {most} %, {judged['yes']} beyond chance{losses} |"
        numbers = [number for number, line in enumerate(lines, 1) if line.startswith(f"| {begin}")]
        if not numbers:
            yield Problem(_PAGE, f"no row begins with | {begin}", f"| {begin}, {due}")
        elif due not in lines[numbers[0] - 1].replace("+", ""):
            yield Problem(f"{_PAGE}:{numbers[0]}", "the gains are others than the tables'", due)
