"""Dry runs on a query's page: what they found stands there, and the K of a calibration is accepted, or left.

Its tests share the runs of one query, in this order.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from playwright.sync_api import Locator, Page, expect

from generators.delays import delay_model, epoch_ms
from generators.replay import generate
from kit.console.bed import PAGES, Bed
from kit.console.pages import LONG_MS, act, await_page
from kit.console.warehouse import MINUTE_MS, Warehouse, write_files
from kit.parts import chromium
from kit.suite.waiting import until
from tailrace.storage.tables import Tables

pytestmark = [pytest.mark.needs("spark"), pytest.mark.xdist_group("console")]

QUERY = "trades"
DAGS = f"calibrate_{QUERY}", f"rebuild_{QUERY}"
ENDED = "success", "failed"
QUIET_S = 420
"""No calibration by schedule is due for so long, twice what the tests take: one would outdate their dry run."""


@pytest.fixture(scope="module")
def page(bed, browser) -> Iterator[Page]:
    """A page that stays open all the time, of a user who may trigger runs, while no scheduled run comes between."""
    api = bed.api()
    for dag in DAGS:
        api.call("PATCH", f"dags/{dag}", {"is_paused": False})
    until(lambda: _is_quiet(bed), patience_s=QUIET_S + LONG_MS / 1000)
    _go_on(bed.warehouse)
    window = chromium.open_window(browser, bed.url)
    window.context.add_cookies(chromium.cookies(bed.url, bed.api("user").token))
    yield _open(window)
    assert window.unexpected() == []
    window.context.close()
    for dag in DAGS:
        api.call("PATCH", f"dags/{dag}", {"is_paused": True})


def _is_quiet(bed: Bed) -> bool:
    api, dag = bed.api(), DAGS[0]
    due = datetime.fromisoformat(api.call("GET", f"dags/{dag}")["next_dagrun_run_after"])
    runs = api.call("GET", f"dags/{dag}/dagRuns", limit=100)["dag_runs"]
    return due.timestamp() - time.time() > QUIET_S and all(run["state"] in ENDED for run in runs)


def _go_on(warehouse: Warehouse) -> None:
    """Let the stream read two minutes more: a calibration of what another one has seen proposes the same again."""
    minutes, start_ms = 22, warehouse.now_ms - 20 * MINUTE_MS
    table = generate(minutes * 60 * 20, 20, 4, delay_model("exponential:6 s"), 2, start_ms)
    new = table.filter(pc.greater_equal(pa.array(epoch_ms(table["event_time"])), warehouse.now_ms))
    write_files(warehouse.source(QUERY, "trades"), new, 1)
    warehouse.run(QUERY, 2000)


def _open(window: chromium.Watched) -> Page:
    page = window.page(f"{PAGES}queries/{QUERY}?part=ledger")
    await_page(page)
    expect(page.get_by_role("group", name="Actions")).to_be_visible()
    return page


def found(page: Page, title: str) -> Locator:
    """What the newest dry run of an action found."""
    return page.get_by_role("region", name=f"Dry run: {title}")


def accept(page: Page) -> Locator:
    return page.get_by_role("button", name=re.compile("^Accept K = "))


def proposals(bed: Bed) -> pa.Table:
    """The proposals of the query, the newest last."""
    return Tables(bed.warehouse.layout(QUERY)).read("proposals").sort_by("made_at")


def test_a_dry_run_of_a_calibration_shows_its_evidence_and_writes_nothing(bed, page):
    before = proposals(bed)
    expect(found(page, "Calibrate")).to_have_count(0)
    act(page, "Calibrate")
    expect(found(page, "Calibrate")).to_contain_text("nothing was written", timeout=LONG_MS)
    expect(found(page, "Calibrate")).to_contain_text(re.compile(r"\d windows"))
    found(page, "Calibrate").locator("summary").click()
    expect(found(page, "Calibrate").get_by_role("listitem").last).to_contain_text(re.compile(r"\d m?s: 0\.\d+ ± "))
    expect(accept(page)).to_have_count(1)
    assert proposals(bed).equals(before)


def test_a_viewer_reads_the_evidence_and_is_not_offered_to_accept_it(page, window):
    seen = _open(window("viewer"))
    expect(found(seen, "Calibrate")).to_contain_text("nothing was written")
    expect(found(seen, "Calibrate").get_by_role("button", name="Hide")).to_have_count(1)
    expect(accept(seen)).to_have_count(0)


def test_a_dry_run_that_is_left_stays_hidden_in_this_browser_alone(page, window):
    other = _open(window("user"))
    found(other, "Calibrate").get_by_role("button", name="Leave").click()
    expect(found(other, "Calibrate")).to_have_count(0)
    other.reload()
    await_page(other)
    expect(other.get_by_role("group", name="Actions")).to_be_visible()
    expect(found(other, "Calibrate")).to_have_count(0)
    expect(accept(page)).to_have_count(1)


def test_the_k_that_is_accepted_is_proposed_with_its_evidence_and_no_longer_offered(bed, page):
    before, evidence = proposals(bed), found(page, "Calibrate").get_by_role("listitem").first.inner_text()
    k = accept(page).inner_text().removesuffix(" …")
    act(page, k)
    bed.until(lambda: proposals(bed).num_rows > before.num_rows)
    (new,) = proposals(bed).slice(before.num_rows).to_pylist()
    assert evidence.split("\n")[0] in new["evidence"]
    expect(found(page, "Calibrate")).to_contain_text("its K is proposed already", timeout=LONG_MS)
    expect(accept(page)).to_have_count(0)


def test_a_dry_run_of_a_rebuild_shows_its_report_and_rebuilds_nothing(bed, page):
    manifest = bed.warehouse.layout(QUERY).manifest()
    act(page, "Rebuild")
    expect(found(page, "Rebuild")).to_contain_text("nothing was written", timeout=LONG_MS)
    expect(found(page, "Rebuild")).to_contain_text(
        re.compile(r"\d rows? in \d+ batch(es)?, [\d,]+ of them from history")
    )
    expect(found(page, "Rebuild").get_by_role("button", name="Hide")).to_have_count(1)
    assert bed.warehouse.layout(QUERY).manifest() == manifest
