"""Numbers of pages that said what was not so: what nobody has read, and what a correction has changed."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from generators.delays import delay_model
from generators.replay import generate
from kit.console.bed import PAGES, Bed
from kit.console.pages import await_page
from kit.console.warehouse import MINUTE_MS, write_files
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.local_correction import correct
from tailrace.query.loading import load
from tailrace.storage.tables import Tables

pytestmark = pytest.mark.xdist_group("console")

FILES = 200


def figure(page: Page, within: str, name: str) -> Locator:
    """The value of a key figure."""
    term = page.locator("dt", has_text=re.compile(f"^{re.escape(name)}$"))
    return page.locator(f"{within} dl > div").filter(has=term).locator("dd")


def test_what_came_since_a_stream_was_drained_is_not_said_to_be_read(bed, window):
    source = bed.warehouse.source("levels", "readings")
    before = {*source.iterdir()}
    rows = generate(FILES * 5, 2, 5, delay_model("exponential:1 s"), 3, bed.warehouse.now_ms + MINUTE_MS)
    write_files(source, rows, FILES)
    try:
        page = window().page(f"{PAGES}queries/levels")
        await_page(page)
        expect(page.locator("#summary .big")).to_have_text("drained")
        expect(figure(page, "#summary", "Unread rows")).to_have_text("–")
        page.goto(f"{bed.url}{PAGES}")
        await_page(page)
        row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=re.compile("^levels")))
        place = page.get_by_role("columnheader").all_inner_texts().index("Unread rows")
        expect(row.locator("th, td").nth(place)).to_have_text("–")
    finally:
        for file in {*source.iterdir()} - before:
            file.unlink()


def versions(bed: Bed, name: str) -> list[list[Any]]:
    """Of each ranking its versions in order: what the stream said, and then each correction."""
    tables, found = Tables(bed.warehouse.layout(name)), defaultdict[Any, dict[Any, set[Any]]](dict)
    for table in ("results", "corrections"):
        for row in tables.read(table).to_pylist():
            says = found[row["key"], row["window_end"]].setdefault(row["emitted_at"], set())
            says.add((row["rank"], row["id"], row["score"], row["tuples"]))
    return [[each for _, each in sorted(of_answer.items())] for of_answer in found.values()]


def test_answers_that_a_correction_gave_again_as_they_were_are_no_changes(bed, window):
    """A range of event time is given again as a whole; few of its answers had lacked a tuple."""
    query, minute = load(bed.warehouse.queries / "trades.yaml"), bed.warehouse.now_ms // MINUTE_MS * MINUTE_MS
    correct(query, bed.warehouse.tables, CorrectionRange(minute - 15 * MINUTE_MS, minute - 12 * MINUTE_MS))
    held = versions(bed, "trades")
    changed = sum(now != before for each in held for before, now in pairwise(each))
    given = sum(len(each) - 1 for each in held)
    assert 0 < changed < given
    page = window().page(f"{PAGES}queries/trades?part=ledger")
    await_page(page)
    expect(figure(page, "#part", "Answers changed")).to_have_text(f"{changed:,}")
    expect(figure(page, "#part", "Answers given")).to_have_text(f"{given:,}")
