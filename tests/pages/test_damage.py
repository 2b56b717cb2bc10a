"""A damaged table, one that is being compacted, a query without its file: each part says so, and the others work."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from kit.console.bed import PAGES
from kit.console.pages import LONG_MS, await_page, parts_of
from tailrace.storage.tables import Tables

pytestmark = pytest.mark.xdist_group("console")

READS = 20
FAR_MS = 4_000_000_000_000
REFUSAL = "Failed to load resource: the server responded with a status of 409"


def test_a_part_whose_table_is_damaged_says_so_and_what_to_do_and_the_others_work(bed, window):
    watched, damaged = window(), set()
    for part in parts_of(bed, "damaged"):
        if part == "answer":
            continue
        before = len(watched.faults)
        page = watched.page(f"{PAGES}queries/damaged?part={part}")
        await_page(page)
        expect(page.get_by_role("heading", level=1)).to_have_text("damaged")
        shown = page.get_by_role("group", name="Problem")
        if shown.count():
            damaged.add(part)
            expect(shown).to_contain_text("a part of its log is lost or damaged")
            expect(shown).to_contain_text("Run tailrace drain damaged, if a driver runs it; then ")
            assert all(REFUSAL in fault for fault in watched.faults[before:])
            watched.expected += [REFUSAL] * len(watched.faults[before:])
        page.close()
    assert "answers" in damaged
    assert {"late", "quarantine", "ledger", "settings"} & damaged == set()


def test_a_damaged_results_costs_the_frontier_its_wall_clock_alone(bed, window):
    """The page names the table and the repair, and draws the rest: no request is refused, so nothing is provoked."""
    page = window().page(f"{PAGES}queries/damaged?part=frontier")
    await_page(page)
    damaged = page.locator("#part").get_by_role("group", name="Damaged")
    expect(damaged).to_contain_text(str(bed.warehouse.layout("damaged").table("results")))
    expect(damaged).to_contain_text("a part of its log is lost or damaged")
    expect(damaged).to_contain_text("Run tailrace drain damaged, if a driver runs it; then ")
    expect(page.get_by_role("group", name="Problem")).to_have_count(0)
    expect(page.locator("#part figure.chart canvas").first).to_be_visible()
    with bed.client("admin") as client:
        answer = client.get(f"{PAGES}api/queries/damaged/frontier").json()
        whole = client.get(f"{PAGES}api/queries/levels/frontier").json()
    assert [each["fields"] for each in answer["damaged"]] == [["wall"]]
    assert answer["series"] == whole["series"], "of the table metrics, which is as it was"
    assert answer["series"]["at"]


def test_a_refused_query_and_one_without_its_file_are_listed_and_say_why(bed, window):
    page = window().page(PAGES)
    await_page(page)
    refused = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="refused"))
    expect(refused).to_contain_text("1 has no unit")
    lost = page.get_by_role("row").filter(has=page.get_by_role("link", name="lost", exact=True))
    expect(lost).to_contain_text("aggregate")
    with bed.client("admin") as client:
        (row,) = client.get(f"{PAGES}api/streams", params={"search": "lost"}).json()["queries"]
    assert row["file"] is None


def test_an_unknown_query_is_said_to_be_unknown(window):
    watched = window()
    page = watched.page(f"{PAGES}queries/nobody")
    await_page(page)
    expect(page.locator("body")).to_contain_text("neither declared nor in the warehouse")
    unknown = "status of 404"
    assert all(unknown in fault for fault in watched.faults)
    watched.expected += [unknown] * len(watched.faults)


def test_parts_are_read_while_their_tables_are_compacted_and_what_they_replace_is_removed(bed):
    """A reader that meets a file which is just removed looks again; it never calls the table damaged."""
    tables, stop = Tables(bed.warehouse.layout("copies")), threading.Event()

    def compact() -> None:
        while not stop.is_set():
            tables.compact(("results", "metrics", "late"))

    thread, answers = threading.Thread(target=compact), []
    thread.start()
    try:
        with bed.client("admin") as client:
            for number in range(READS):
                for part in ("answers", "frontier", "late"):
                    path = f"{PAGES}api/queries/copies/{part}?to={FAR_MS + number}"  # no answer is kept from before
                    answers.append(client.get(path))
    finally:
        stop.set()
        thread.join()
    wrong = [answer.text[:300] for answer in answers if answer.status_code != 200]
    assert wrong == []


@pytest.fixture
def cut(bed) -> Iterator[Path]:
    """A file of the answers of a stream that is looked at; a test cuts it."""
    home = bed.warehouse.layout("cut").home
    shutil.copytree(bed.warehouse.layout("levels").home, home)
    yield next(iter((home / "results").glob("*.parquet")))
    shutil.rmtree(home)


def test_a_cut_file_of_the_answers_makes_its_stream_ill_and_costs_only_what_needs_it(bed, window, cut):
    """Streams names the table, the file and what to do, though no figure of its own needs that table."""
    page = window().page(f"{PAGES}?search=cut")
    await_page(page)
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="cut", exact=True))
    expect(row).to_contain_text("its policy promises nothing")  # its tables are read
    expect(row).not_to_contain_text("damaged")
    cut.write_bytes(cut.read_bytes()[:100])
    expect(row).to_contain_text(f"{cut}: it is damaged: it has 100 bytes", timeout=LONG_MS)
    card = page.locator(".ill article").filter(has=page.get_by_role("link", name="cut", exact=True))
    expect(card).to_contain_text("Run tailrace drain cut, if a driver runs it; then mv ")
    page.close()
    page = window().page(f"{PAGES}queries/cut?part=frontier")
    await_page(page)
    expect(page.locator("#summary").get_by_role("group", name="Damaged")).to_contain_text(cut.name)
    expect(page.locator("#part").get_by_role("group", name="Problem")).to_have_count(0)
    expect(page.locator("#part figure.chart canvas").first).to_be_visible()
