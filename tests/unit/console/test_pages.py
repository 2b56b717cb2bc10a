"""The pages in Chromium, over made-up answers of their server: what they show, keep still, and send."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

import tailrace.console
from kit.parts import chromium
from kit.parts.chromium import Watched
from tailrace.panels.cells import cut

STATIC = Path(tailrace.console.__file__).parent / "static"
SITE = "http://airflow.test"
BASE = "/some/prefix/tailrace/"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
PARTS = ["frontier", "activity", "promise", "answers", "answer", "late", "ledger", "quarantine", "kind", "settings"]
NOW = 1_700_000_000_000
pytestmark = [pytest.mark.slow, pytest.mark.needs("pages"), pytest.mark.xdist_group("pages")]

TURNED = "a\u202ecod.exe"

Answer = tuple[int, Any]


def stream(name: str, tone: str = "good", **values: Any) -> dict[str, Any]:
    """A row of Streams."""
    word = {"good": "running", "bad": "broken", "warn": "waiting", "idle": "drained"}[tone]
    return {"name": name, "kind": "aggregate", "state": {"word": word, "tone": tone, "why": None}, **values}


@dataclass
class Site:
    """A made-up server: its answers by path below `api/`, and what was sent to Airflow's API.

    Streams has no rows from the offset `beyond` on.
    """

    answers: dict[str, Answer] = field(default_factory=dict)
    sent: list[tuple[str, str, Any]] = field(default_factory=list)
    sending: Answer = (200, {"dag_run_id": "manual__1"})
    is_away: bool = False
    beyond: int = 1_000_000

    def route(self, route: Route) -> None:
        """Answer a request of the browser."""
        request, url = route.request, urlsplit(route.request.url)
        path = url.path.removeprefix(BASE)
        if not url.path.startswith(BASE):
            self._airflow(route, url.path)
        elif path.startswith("static/"):
            self._file(route, path.removeprefix("static/"))
        elif not path.startswith("api/"):
            shells = {"": "streams.html", "glossary": "glossary.html"}
            self._file(route, shells.get(path, "query.html"))
        elif self.is_away:
            route.abort()
        else:
            assert request.method == "GET"
            status, body = self.answers.get(path.removeprefix("api/"), (404, {"detail": "Not Found"}))
            if int(parse_qs(url.query).get("offset", ["0"])[0]) >= self.beyond:
                body = body | {"queries": []}
            route.fulfill(status=status, json=body)

    def _file(self, route: Route, name: str) -> None:
        file = STATIC / name
        headers = {"Content-Type": TYPES[file.suffix], "Content-Security-Policy": POLICY}
        route.fulfill(status=200, body=file.read_bytes(), headers=headers)

    def _airflow(self, route: Route, path: str) -> None:
        if route.request.method == "GET":
            route.fulfill(status=200, content_type="text/html", body="<title>Airflow</title>")
        else:
            self.sent.append((route.request.method, path, route.request.post_data_json))
            route.fulfill(status=self.sending[0], json=self.sending[1])

    def query(self, name: str, **parts: Any) -> None:
        """Have a query, of which the panels named have these answers and the others have empty ones."""
        self.answers[f"queries/{name}/summary"] = (200, {**stream(name), "parts": PARTS, "dags": {}})
        self.answers[f"queries/{name}/actions"] = (200, {"actions": []})
        for part in PARTS:
            self.answers[f"queries/{name}/{part}"] = (200, parts.get(part, {}))

    def streams(self, *rows: dict[str, Any], **values: Any) -> None:
        """Have these streams."""
        broken = [row for row in rows if row.get("promise", {}).get("state") == "broken"]
        ill = sum(row["state"]["tone"] in ("bad", "warn") or row in broken for row in rows)
        answer = {"now": NOW, "total": len(rows), "ill": ill, "queries": list(rows), "problems": []}
        self.answers["streams"] = (200, answer | values)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.running_browser() as running:
        yield running


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def window(browser: Browser, site: Site) -> Iterator[Watched]:
    watched = chromium.open_window(browser, SITE)
    watched.context.route("**/*", site.route)
    yield watched
    unexpected = watched.unexpected()
    watched.context.close()
    assert unexpected == []


def shown(window: Watched, path: str) -> Page:
    """Open a page whose clock stands still, and wait for what its server says."""
    page = window.page()
    page.clock.install(time=NOW)
    page.goto(f"{SITE}{BASE}{path}")
    page.locator("#fresh", has_text=re.compile("Updated|Not")).wait_for()
    page.wait_for_selector(".loading", state="detached")
    return page


Run = Callable[[str, str], Any]


@pytest.fixture(scope="module")
def run_js(browser: Browser) -> Iterator[Run]:
    """Returns the value of an expression over what a module exports, as `m`."""
    site, watched = Site(), chromium.open_window(browser, SITE)
    site.streams()
    watched.context.route("**/*", site.route)
    page = shown(watched, "")
    load = f"await import('{BASE}static/%s')"
    yield lambda module, expression: page.evaluate(f"async () => {{ const m = {load % module}; return {expression} }}")
    watched.context.close()


def test_parts_of_which_every_field_is_missing_are_shown_without_a_fault(site, window):
    site.query("q")
    page = shown(window, "queries/q?part=answer")
    part = page.locator("#part")
    for name in ("answer", *(name for name in PARTS if name != "answer")):
        if name != "answer":
            page.locator(f"#tab-{name}").click()
            expect(part.locator("h2")).to_have_count(1)
        expect(part.locator(".loading")).to_have_count(0)
        expect(part.locator(".stack")).to_have_count(1)
        assert not re.search("NaN|undefined|Infinity|could not be drawn", part.inner_text()), name


def test_shares_are_never_rounded_to_all_or_nothing(run_js):
    shares = "[1, 0.99999, 0.999999999999, 0.95, 0.0001, 1e-12, 0].map(m.share)"
    assert run_js("format.js", shares) == [
        "100 %",
        "99.999 %",
        "> 99.999999 %",
        "95 %",
        "0.01 %",
        "< 0.000001 %",
        "0 %",
    ]


def test_numbers_that_differ_are_shown_with_different_digits(run_js):
    numbers = (
        "[12345678, 12345679, -9007199254740991, 5.25, 1234567.12345, 0.1 + 0.2, 1.23456789e-7, 0, 1e20].map(m.number)"
    )
    assert run_js("format.js", numbers) == [
        "12,345,678",
        "12,345,679",
        "-9,007,199,254,740,991",
        "5.25",
        "1,234,567.12345",
        "0.3",
        "1.23456789e-7",
        "0",
        "1e+20",
    ]


def test_lines_that_differ_are_those_of_the_shortest_edit(run_js):
    edits = "m.lines('a\\nb\\nc\\nd', 'a\\nc\\nx\\nd').map(line => [line.kind, line.text, line.before, line.after])"
    assert run_js("diff.js", edits) == [
        ["same", "a", 1, 1],
        ["removed", "b", 2, None],
        ["same", "c", 3, 2],
        ["added", "x", None, 3],
        ["same", "d", 4, 4],
    ]


def test_a_path_that_leads_to_another_server_is_no_link(run_js):
    paths = ["dags/d/runs/r", "https://elsewhere.test/", "//elsewhere.test/", "javascript:void 0", "", None]
    found = run_js("api.js", f"{json.dumps(paths)}.map(m.airflowAddress)")
    assert found[0] == f"{SITE}/some/prefix/dags/d/runs/r"
    assert all(address is None or address.startswith(f"{SITE}/some/prefix/") for address in found)
    assert [found[1], found[3], found[4], found[5]] == [None] * 4


def test_text_that_turns_the_direction_of_the_page_is_shown_by_name(site, window):
    site.streams(stream("q", "bad", note=TURNED))
    page = shown(window, "")
    assert "\u202e" not in page.locator("body").inner_text()
    assert "a[U+202E]cod.exe" in page.locator("#rows").inner_text()


def test_the_ill_come_first_with_their_reasons_and_the_title_counts_them(site, window):
    broken = {"state": "broken", "detail": "9 % measured"}
    site.streams(stream("well"), stream("kept", promise=broken), stream("ill", "bad", note="no such column"))
    page = shown(window, "")
    assert page.title() == "(2) Streams · tailrace"
    expect(page.locator(".verdict")).to_have_text("2 of 3 streams need attention.")
    cards = page.locator(".ill article").all_inner_texts()
    assert "no such column" in " ".join(cards)
    assert "9 % measured" in " ".join(cards)
    assert "well" not in " ".join(cards)


def run(kind: str, state: str, tone: str, says: str | None = None) -> dict[str, Any]:
    """The newest run of a DAG of `q`."""
    page = f"dags/{kind}_q/runs/manual__1"
    return {"kind": kind, "state": state, "tone": tone, "at": NOW, "task": says and kind, "says": says, "page": page}


def test_a_run_that_failed_makes_its_stream_ill_and_says_why(site, window):
    failed = run("correct", "failed", "warn", "the correction failed: no disk")
    over = run("stream", "failed", "idle", "the deployment failed: long ago")
    site.streams(stream("well", runs=[over]), stream("q", runs=[failed]), ill=1)
    page = shown(window, "")
    expect(page.locator(".ill article")).to_have_count(1)
    expect(page.locator(".ill article.warn")).to_contain_text("the correction failed: no disk")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="q", exact=True))
    expect(row.locator(".why")).to_have_text("the correction failed: no disk")
    expect(row).to_have_class("marked")
    assert "long ago" not in page.locator("body").inner_text()


def test_a_head_lists_the_last_runs_and_names_a_reason_once(site, window):
    reason = "the deployment failed at 2023-11-14T22:13:20.000Z: no column"
    site.query("q")
    summary = site.answers["queries/q/summary"][1]
    summary["state"] = {"word": "deploy failed", "tone": "bad", "why": reason}
    summary["runs"] = [run("stream", "failed", "bad", reason), run("correct", "running", "idle")]
    page = shown(window, "queries/q")
    runs = page.get_by_role("list", name="Last runs").get_by_role("listitem")
    expect(runs).to_have_count(2)
    expect(runs.nth(0)).to_have_text(re.compile(r"^Stream failed.*Its log$"))
    expect(runs.nth(1)).to_have_text(re.compile(r"^Correction runs since.*Its run$"))
    assert page.locator("#summary").inner_text().count("no column") == 1
    log = runs.nth(0).get_by_role("link")
    expect(log).to_have_attribute("href", f"{SITE}/some/prefix/dags/stream_q/runs/manual__1")


def test_the_server_counts_the_ill_and_says_how_many_promises_it_has_not_looked_at(site, window):
    site.streams(stream("well"), total=200, ill=0, unread=150)
    page = shown(window, "")
    verdict = page.locator(".verdict")
    expect(verdict).to_have_text(
        "No state of 200 streams needs attention; the promises of 150 streams are not looked at yet."
    )
    site.streams(stream("well"), total=200, ill=3, unread=1)
    page.clock.fast_forward(6000)
    expect(verdict).to_have_text("3 of 200 streams need attention; the promises of 1 stream are not looked at yet.")
    site.streams(stream("well"), total=200, ill=0, unread=0)
    page.clock.fast_forward(6000)
    expect(verdict).to_have_text("All well: 200 streams, none needs attention.")


def test_rows_that_are_unread_say_so_and_are_asked_for_again_soon(site, window):
    site.streams(stream("a", is_unread=True))
    page = shown(window, "")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="a", exact=True))
    expect(row).to_contain_text("not looked at yet")
    site.streams(stream("a", is_unread=False, promise={"state": "kept", "detail": None}))
    page.clock.fast_forward(700)
    expect(row).to_contain_text("kept")


def test_no_row_of_a_promise_is_not_said_before_all_are_known(site, window):
    site.streams(total=0, unread=2)
    page = shown(window, "?promise=broken")
    expect(page.locator("#rows")).to_contain_text("No stream has promise broken; of 2 streams it is not known yet.")
    site.streams(stream("a"), unread=0)
    page.clock.fast_forward(700)
    expect(page.locator("#rows")).to_contain_text("running")


def test_a_driver_alone_on_its_host_leads_to_no_page(site, window):
    site.streams(stream("alone", "bad", has_page=False), stream("a"))
    page = shown(window, "")
    expect(page.locator("#rows")).to_contain_text("alone")
    expect(page.get_by_role("link", name="alone")).to_have_count(0)


def test_filters_are_in_the_address_and_are_saved_with_a_search(site, window):
    site.streams(stream("a"), states=["drained", "running"], kinds=["aggregate"])
    page = shown(window, "")
    by_state = page.get_by_role("combobox", name="Filter by state")
    with page.expect_response(re.compile(r"api/streams\?.*state=running")):
        by_state.select_option("running")
    expect(page).to_have_url(re.compile(r"\?state=running$"))
    page.get_by_role("button", name="Save as my search").click()
    page.get_by_role("button", name="All", exact=True).click()
    expect(page).to_have_url(re.compile("tailrace/$"))
    expect(by_state).to_have_value("")
    page.get_by_role("button", name="My search", exact=True).click()
    expect(page).to_have_url(re.compile(r"filter=mine&state=running$"))
    expect(by_state).to_have_value("running")
    shared = shown(window, "?state=gone")
    expect(shared.get_by_role("combobox", name="Filter by state")).to_have_value("gone")


def test_a_page_beyond_the_last_one_is_the_first(site, window):
    site.streams(stream("a"), stream("b"))
    site.beyond = 2
    page = shown(window, "?offset=100")
    expect(page.locator("#rows tbody tr")).to_have_count(2)
    assert urlsplit(page.url).query == ""


def test_a_problem_of_several_lines_is_shown_in_lines(site, window):
    row = stream("ill", "bad")
    row["state"]["why"] = "source: no column v\n    right would be: one of a, b"
    site.streams(row)
    page = shown(window, "")
    for text in page.locator(".why, .ill p").all_inner_texts():
        assert "v right" not in text
    assert "source: no column v\nright would be: one of a, b" in page.locator("#rows .why").first.inner_text()


def test_the_switch_of_zones_has_two_names(browser, site):
    watched = chromium.open_window(browser, SITE, timezone_id="UTC")
    watched.context.route("**/*", site.route)
    site.streams(stream("a"))
    page = shown(watched, "")
    assert page.locator("#zone button").all_inner_texts() == ["local", "UTC"]
    watched.context.close()


def test_of_many_tasks_the_most_loaded_are_drawn_and_that_is_said(run_js):
    lists = [[number % 20, 0] for number in range(30)]
    of_tasks = f"m.many([1, 2], {lists}, ['task', 'tasks'])"
    names = run_js("parts/task_series.js", f"{of_tasks}.series.map(line => line.name)")
    assert names == [f"task {number}" for number in (*range(10, 21), 30)]
    assert run_js("parts/task_series.js", f"{of_tasks}.summary") == "The 12 most loaded of 30 tasks"
    cuts = f"m.many([1, 2], {lists}, ['boundary', 'boundaries'])"
    assert run_js("parts/task_series.js", f"{cuts}.summary") == "The first 12 of 30 boundaries"
    assert run_js("parts/task_series.js", f"m.many([1, 2], {lists[:12]}, ['task', 'tasks']).summary") is None


def test_focus_is_not_lost_where_a_control_is_replaced_or_goes(site, window):
    row = {"id": "1", "streamed": [1], "latest": [2], "is_changed": True, "coverage": 1, "as_of": NOW}
    site.query("q", answers={"columns": [{"name": "v", "type": "number"}], "rows": [row]})
    site.answers["queries/q/summary"][1]["frontier"] = NOW
    page = shown(window, "queries/q?part=answers")
    expect(page.get_by_role("button", name="1 h", exact=True)).to_be_enabled()  # once the frontier is known
    page.get_by_role("button", name="1 h", exact=True).press("Enter")
    expect(page.get_by_role("button", name="1 h", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("button", name="1 h", exact=True)).to_be_focused()
    page.get_by_role("link", name="Versions").press("Enter")
    expect(page.get_by_role("heading", name="One answer")).to_be_visible()
    expect(page.locator("#part")).to_be_focused()
    page.get_by_role("link", name="← All answers").press("Enter")
    expect(page.get_by_role("link", name="Versions")).to_be_visible()
    expect(page.locator("#part")).to_be_focused()


def test_a_link_of_the_time_line_keeps_the_focus_while_the_stream_goes_on(site, window):
    def ledger(committed: int) -> dict[str, Any]:
        run = {"kind": "correction", "arrived_from": NOW - 9000, "arrived_to": NOW - 5000, "run_url": "dags/d/runs/r"}
        return {"runs": [run], "gaps": [], "committed": committed, "runs_total": 1, "gaps_total": 0}

    site.query("q", ledger=ledger(NOW))
    page = shown(window, "queries/q?part=ledger")
    link = page.locator("svg.timeline a")
    link.focus()
    before = page.locator("svg.timeline rect").first.get_attribute("width")
    site.answers["queries/q/ledger"] = (200, ledger(NOW + 60_000))
    page.clock.fast_forward(6000)
    expect(page.locator("svg.timeline rect").first).not_to_have_attribute("width", before)
    expect(link).to_be_focused()


def test_the_ledger_counts_the_late_tuples_of_gaps_that_it_does_not_show(site, window):
    gap = {"from": NOW, "to": NOW + 1, "late": 0}
    totals = {"corrections": 700, "late": 9000, "answers": 1_139, "changed": 184, "retracted": 0}
    late = {"gaps": [gap], "gaps_total": 600, "gaps_late": 5, "totals": totals, "committed": NOW + 1}
    site.query("q", ledger=late)
    page = shown(window, "queries/q?part=ledger")
    figures = page.locator("#part .figures")
    expect(figures).to_contain_text("600, with 5 late")
    expect(figures).to_contain_text("9,000")
    values = figures.locator("> div")
    expect(values.filter(has_text="Answers changed").locator("dd")).to_have_text("184")
    expect(values.filter(has_text="Answers given").locator("dd")).to_have_text("1,139")


@pytest.mark.parametrize(("is_open", "tone"), [(True, "warn"), (False, "bad")])
def test_a_gap_that_the_next_correction_takes_is_no_hole(site, window, is_open, tone):
    gap = {"from": NOW, "to": NOW + 9000, "late": 5, "is_open": is_open}
    site.query("q", ledger={"gaps": [gap], "gaps_total": 1, "gaps_late": 5, "committed": NOW + 9000})
    page = shown(window, "queries/q?part=ledger")
    expect(page.locator(f"#part .figures .badge.{tone}")).to_contain_text("5 late")
    expect(page.locator("svg.timeline rect.open")).to_have_count(int(is_open))
    expect(page.locator("svg.timeline rect.gap")).to_have_count(int(not is_open))


def test_a_replay_that_is_read_is_not_said_to_be_days_behind(site, window):
    site.query("q")
    site.answers["queries/q/summary"][1].update(rows_left=0, behind_ms=433_555_200_000, data_ends=1_362_009_600_000)
    behind = shown(window, "queries/q").locator("#summary .figures > div", has_text="Behind").locator("dd")
    expect(behind).to_have_text("data ends 2013-02-28")


def test_a_record_that_the_server_has_cut_has_the_length_that_it_says(site, window):
    record = dict.fromkeys(("stream", "position", "reason"), "r")
    records = [record | {"record": cut(text)} for text in ("x" * 2_000_000, "y" * 1_999)]
    site.query("q", quarantine={"total": 2, "records": records})
    samples = shown(window, "queries/q?part=quarantine").locator("#part .sample")
    expect(samples.nth(0).locator("summary .hint")).to_have_text("2,000,000 characters")
    expect(samples.nth(0).locator("button")).to_have_text("Copy the start")
    expect(samples.nth(1).locator("summary .hint")).to_have_text("1,999 characters")
    expect(samples.nth(1).locator("button")).to_have_text("Copy all")


def test_what_nobody_reads_is_not_said_to_be_read_to_its_end(site, window):
    site.query("q")
    drained = {"rows_left": None, "behind_ms": 433_555_200_000, "data_ends": 1_362_009_600_000}
    site.answers["queries/q/summary"][1].update(drained)
    figures = shown(window, "queries/q").locator("#summary .figures > div")
    expect(figures.filter(has_text="Unread rows").locator("dd")).to_have_text("–")
    expect(figures.filter(has_text="Behind").locator("dd")).to_have_text("read to 2013-02-28")


@pytest.mark.parametrize(("is_allowed", "buttons"), [(True, ["Accept K = 3 s …", "Leave"]), (False, ["Hide"])])
def test_who_may_not_accept_a_dry_run_is_not_offered_it(site, window, is_allowed, buttons):
    found = {"run_id": "r", "at": NOW, "lines": ["calibrated"], "run": "dags/calibrate_q/runs/r"}
    calibrate = {"name": "calibrate", "title": "Calibrate", "is_allowed": True, "dry_run": found}
    accept = {"name": "accept", "title": "Accept K = 3 s", "is_allowed": is_allowed}
    site.query("q")
    site.answers["queries/q/actions"] = (200, {"actions": [calibrate, accept]})
    shown_run = shown(window, "queries/q").get_by_role("region", name="Dry run: Calibrate")
    expect(shown_run.get_by_role("button")).to_have_text(buttons)


@pytest.mark.parametrize(("is_changed", "number"), [(True, 1), (False, 0)])
def test_values_that_differ_in_their_last_digits_are_not_shown_as_corrected(site, window, is_changed, number):
    row = {"id": "1", "streamed": [5.3], "latest": [5.300000000000001], "is_changed": is_changed, "coverage": 1}
    site.query("q", answers={"columns": [{"name": "v", "type": "number"}], "rows": [row]})
    page = shown(window, "queries/q?part=answers")
    expect(page.locator("[data-answers] tbody tr")).to_have_count(1)
    expect(page.locator("[data-answers] .was")).to_have_count(number)


def test_a_map_without_cells_leaves_the_word_to_the_note(site, window):
    site.query("q", kind={"kind": "spatial_join", "cells": [], "note": "nothing was joined yet"})
    page = shown(window, "queries/q?part=kind")
    expect(page.locator("#part")).to_contain_text("nothing was joined yet")
    expect(page.locator("#part")).not_to_contain_text("No cell has any yet")


def test_a_directory_that_is_complete_is_read_and_behind_nothing(site, window):
    both = {"stream": "s", "rows": 5, "is_idle": False, "is_holding": False, "late": 0}
    new, old = both | {"partition": "new", "passed": NOW}, both | {"partition": "old", "passed": NOW - 86_400_000}
    site.query("q", late={"partitions": [new, old]})
    page = shown(window, "queries/q?part=late")
    rows = page.get_by_role("table", name="Partitions").locator("tbody tr")
    expect(rows.nth(1)).to_contain_text("read")
    expect(rows.nth(1)).not_to_contain_text("1 d")
    expect(rows.nth(0)).to_contain_text("0 ms")


def test_rows_keep_their_order_while_the_reader_points_at_them(site, window):
    site.streams(stream("a"), stream("b"))
    page = shown(window, "")
    names = page.locator("#rows tbody tr a")
    page.locator("#rows tbody tr").first.hover()
    site.streams(stream("c", "bad"), stream("b"), stream("a"))
    page.clock.fast_forward(6000)
    expect(names).to_have_text(["a", "b", "c"])
    expect(page.locator("#rows")).to_contain_text("The order is held while you read.")
    page.mouse.move(0, 0)
    page.clock.fast_forward(6000)
    expect(names).to_have_text(["c", "b", "a"])


def test_what_is_open_or_focused_stays_so_when_the_page_is_updated(site, window):
    points = {"at": [NOW - 2000, NOW - 1000], "k_ms": [200, 350], "frontier": [NOW - 3000, NOW - 2000]}
    site.query("q", frontier={"from": NOW - 3000, "to": NOW, "series": points})
    site.answers["queries/q/summary"][1]["state"]["why"] = "because " * 100
    page = shown(window, "queries/q")
    page.locator("#summary summary").click()
    page.get_by_text("Show as a table: K, the slack").click()
    row = page.locator(".as-table[open] tbody tr")
    expect(row).to_have_count(2)
    page.get_by_role("button", name="Copy link").focus()
    more = {"at": [*points["at"], NOW], "k_ms": [200, 350, 400], "frontier": [*points["frontier"], NOW - 400]}
    site.answers["queries/q/frontier"] = (200, {"from": NOW - 3000, "to": NOW, "series": more})
    page.clock.fast_forward(6000)
    expect(row).to_have_count(3)
    expect(row.first).to_contain_text("400 ms")
    expect(page.locator("#summary details")).to_have_attribute("open", "")
    expect(page.get_by_role("button", name="Copy link")).to_be_focused()


def test_a_chart_says_in_words_what_it_shows(site, window):
    points = {"at": [NOW - 2000, NOW - 1000, NOW], "k_ms": [200, 900, 350]}
    site.query("q", frontier={"from": NOW - 3000, "to": NOW, "series": points})
    page = shown(window, "queries/q")
    page.get_by_role("button", name="UTC").click()
    name = page.get_by_role("img", name="K, the slack").get_attribute("aria-label")
    assert name == (
        "K, the slack. 3 points from 2023-11-14 22:13:18 to 2023-11-14 22:13:20. "
        "K: least 200 ms, greatest 900 ms, last 350 ms."
    )


def test_the_theme_that_airflow_has_chosen_holds(site, window):
    site.streams()
    page = shown(window, "")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 21, 23)"


def test_a_server_that_is_away_is_named_and_what_it_said_stays(site, window):
    site.streams(stream("a"))
    page = shown(window, "")
    site.is_away = True
    window.expected += ["ERR_FAILED"] * 2
    page.clock.fast_forward(6000)
    expect(page.locator("#fresh")).to_contain_text("Not updated since")
    expect(page.locator("#rows")).to_contain_text("a")
    site.is_away = False
    page.clock.fast_forward(11000)
    expect(page.locator("#fresh")).to_contain_text("Updated")


def test_a_part_that_fails_says_where_and_what_to_do_beside_the_others(site, window):
    site.query("q")
    problem = {"where": "table corrections", "fault": "a file is missing", "remedy": "tailrace rebuild q"}
    site.answers["queries/q/ledger"] = (409, {"problems": [problem], "is_temporary": False})
    window.expected += ["409"]
    page = shown(window, "queries/q?part=ledger")
    for text in problem.values():
        expect(page.locator("#part")).to_contain_text(text)
    page.get_by_role("tab", name="Settings").click()
    expect(page.locator("#part")).to_contain_text("Facts over time")


def test_answers_of_other_settings_are_not_shown_when_these_fail(site, window):
    site.query("q", answers={"columns": [{"name": "v", "type": "text"}], "rows": [{"id": "1", "latest": ["of all"]}]})
    page = shown(window, "queries/q?part=answers&key=a")
    expect(page.locator("#part")).to_contain_text("of all")
    problem = {"where": "key", "fault": "no such key", "remedy": "another one"}
    site.answers["queries/q/answers"] = (409, {"problems": [problem], "is_temporary": False})
    window.expected += ["409"]
    page.get_by_role("button", name="All keys").click()
    expect(page.locator("#part")).to_contain_text("no such key")
    expect(page.locator("#part")).not_to_contain_text("of all")


@pytest.mark.parametrize("part", ["toString", "nothing", ""])
def test_a_part_that_is_none_leads_to_the_first(site, window, part):
    site.query("q")
    page = shown(window, f"queries/q?part={part}")
    expect(page.get_by_role("tab", selected=True)).to_have_text("Frontier")


def test_who_is_not_logged_in_is_led_to_the_log_in_once_and_back(site, window):
    site.answers["streams"] = (401, {"detail": "Not authenticated"})
    window.expected += ["401"] * 3
    page = window.page(f"{BASE}?search=a")
    page.wait_for_url(re.compile("/auth/login"))
    url = urlsplit(page.url)
    assert url.path == "/some/prefix/api/v2/auth/login"
    assert parse_qs(url.query)["next"] == [f"{SITE}{BASE}?search=a"]
    page.goto(f"{SITE}{BASE}")
    expect(page.get_by_role("link", name="Log in to Airflow")).to_be_visible()  # no loop


def correction(**values: Any) -> dict[str, Any]:
    """An action with a range."""
    fields = [{"name": name, "label": name, "type": "datetime", "value": None, "help": ""} for name in ("from", "to")]
    requests = [
        {"method": "PATCH", "path": "dags/correct_q", "body": {"is_paused": False}},
        {"method": "POST", "path": "dags/correct_q/dagRuns", "body": {"logical_date": None, "conf": {"more": 1}}},
    ]
    action = {"name": "correct", "title": "Correct", "says": "It corrects.", "is_allowed": True, "why_not": None}
    return action | {"fields": fields, "requests": requests, "run": "dags/correct_q/runs/{dag_run_id}"} | values


def test_an_action_says_what_it_does_sends_its_requests_in_order_and_links_to_its_run(site, window):
    site.query("q")
    site.answers["queries/q/actions"] = (200, {"actions": [correction()]})
    page = shown(window, "queries/q")
    page.get_by_role("button", name="Correct …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("It corrects.")
    dialog.locator("input[name=from]").fill("2023-11-14T23:00:00.000")  # in Berlin
    assert site.sent == []
    dialog.get_by_role("button", name="Correct", exact=True).click()
    link = page.get_by_role("link", name="See its run manual__1")
    expect(link).to_have_attribute("href", f"{SITE}/some/prefix/dags/correct_q/runs/manual__1")
    api = "/some/prefix/api/v2/dags/correct_q"
    conf = {"more": 1, "from": "2023-11-14T22:00:00.000Z"}
    assert site.sent == [
        ("PATCH", api, {"is_paused": False}),
        ("POST", f"{api}/dagRuns", {"logical_date": None, "conf": conf}),
    ]


def test_a_form_that_is_closed_gives_the_focus_back_at_once(site, window):
    """Later it would take it from what was pressed next."""
    site.query("q")
    site.answers["queries/q/actions"] = (200, {"actions": [correction()]})
    page = shown(window, "queries/q")
    page.get_by_role("button", name="Correct …").press("Enter")
    page.get_by_role("dialog").wait_for()
    close = "() => { document.querySelector('dialog').close(); return document.activeElement.textContent; }"
    assert page.evaluate(close) == "Correct …"
    page.get_by_role("button", name="Copy link").focus()
    page.locator("dialog").wait_for(state="detached")
    expect(page.get_by_role("button", name="Copy link")).to_be_focused()


def test_an_action_that_fails_half_way_stops_and_says_why(site, window):
    site.query("q")
    site.answers["queries/q/actions"] = (200, {"actions": [correction()]})
    site.sending = (403, {"detail": "Forbidden"})
    window.expected += ["403"]
    page = shown(window, "queries/q")
    page.get_by_role("button", name="Correct …").click()
    page.get_by_role("dialog").get_by_role("button", name="Correct", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("you have no right to do this")
    assert len(site.sent) == 1


def test_an_action_that_is_not_allowed_says_why_and_can_not_be_sent(site, window):
    site.query("q")
    action = correction(is_allowed=False, why_not="this needs the right to trigger runs")
    site.answers["queries/q/actions"] = (200, {"actions": [action]})
    page = shown(window, "queries/q")
    page.get_by_role("button", name="Correct …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("this needs the right to trigger runs")
    assert dialog.get_by_role("button").all_inner_texts() == ["Close"]


ARRIVALS = [NOW + 1000 * step for step in range(11)]
OVER_ARRIVAL = {
    "from": NOW,
    "to": ARRIVALS[-1],
    "series": {
        "at": ARRIVALS,
        "t_max": [ms - 500 for ms in ARRIVALS],
        "frontier": [ms - 900 for ms in ARRIVALS],
        "late": [0] * 11,
        "waiting": [1] * 11,
    },
}
QUANTILES = {"quantiles": [{"q": 0.5, "delay_ms": 7}, {"q": 1, "delay_ms": 2000}], "tuples": 9, "from": NOW, "to": NOW}


def drawn(window: Watched, site: Site, part: str, title: str | re.Pattern[str], key: str, **values: Any) -> Page:
    """A page on whose chart a range of three points was drawn, from the end that the key goes to."""
    site.query("q", **{part: OVER_ARRIVAL | values})
    site.answers["queries/q/actions"] = (200, {"actions": [correction()]})
    page = shown(window, f"queries/q?part={part}")
    page.get_by_role("button", name="UTC").click()
    expect(page.get_by_role("button", name="Correct …")).to_be_visible()
    page.get_by_role("img", name=title).focus()
    page.keyboard.press(key)
    for _ in range(2):
        page.keyboard.press("Shift+ArrowRight" if key == "Home" else "Shift+ArrowLeft")
    return page


@pytest.mark.parametrize(
    ("key", "delays", "start", "says"),
    [
        # The t_max before, less the longest delay.
        ("End", QUANTILES, "2023-11-14 22:13:24.500", "From is an estimate"),
        ("Home", QUANTILES, "", "From is empty"),  # of what was before nothing is known
        ("End", None, "", "From is empty"),
        ("End", {"quantiles": [{"q": 1, "delay_ms": 0}]}, "", "From is empty"),
    ],
)
def test_a_range_over_arrival_fills_the_correction_with_event_times_that_leave_no_window_out(
    site, window, key, delays, start, says
):
    page = drawn(window, site, "frontier", "Event time behind arrival", key, delays=delays)
    ends = "22:13:28 – 2023-11-14 22:13:30" if key == "End" else "22:13:20 – 2023-11-14 22:13:22"
    expect(page.get_by_role("group", name="Selected range")).to_contain_text(ends)
    page.get_by_role("button", name="Correct this range …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(says)
    expect(dialog.locator("input[name=from]")).to_have_value(start)
    last = "2023-11-14 22:13:29.500" if key == "End" else "2023-11-14 22:13:21.500"
    expect(dialog.locator("input[name=to]")).to_have_value(last)


def test_the_answer_of_the_frontier_says_which_series_have_a_chart(site, window):
    charts = {"waiting": {"title": "Waiting rows", "unit": "count", "style": "bars", "tone": "warn"}}
    site.query("q", frontier=OVER_ARRIVAL | {"charts": charts})
    page = shown(window, "queries/q?part=frontier")
    expect(page.get_by_role("img", name=re.compile("^Waiting rows.*waiting: least 1, greatest 1"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Late rows"))).to_have_count(0)


LATE = {"late": 7, "from": NOW - 60_000, "to": NOW - 29_999}


def fields(dialog: Locator) -> list[str]:
    """The range in the form of a correction."""
    return [dialog.locator(f"input[name={name}]").input_value() for name in ("from", "to")]


@pytest.mark.parametrize("title", ["Correct this range …", "Correct …"])
def test_a_range_of_arrival_is_corrected_by_the_event_times_of_its_late_tuples(site, window, title):
    page = drawn(window, site, "late", "Late rows", "Home")
    expect(page.get_by_role("group", name="Selected range")).to_contain_text("22:13:20 – 2023-11-14 22:13:22")
    site.answers["queries/q/uncorrected"] = (200, LATE)
    with page.expect_request(f"{SITE}{BASE}api/queries/q/uncorrected?from={NOW}&to={NOW + 2000}"):
        page.get_by_role("button", name=title, exact=True).press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("the event times of the 7 late tuples that arrived then")
    assert fields(dialog) == ["2023-11-14 22:12:20", "2023-11-14 22:12:50.001"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((200, {"late": 0, "from": None, "to": None}), "No late tuple that arrived then is uncorrected"),
        (
            (409, {"problems": [{"where": "late", "fault": "a file is missing", "remedy": ""}]}),
            "are not known: a file is",
        ),
    ],
)
def test_a_range_of_arrival_without_known_late_tuples_fills_in_nothing_and_says_why(site, window, answer, says):
    page = drawn(window, site, "late", "Late rows", "Home")
    site.answers["queries/q/uncorrected"] = answer
    window.expected += ["409"] * (answer[0] == 409)
    page.get_by_role("button", name="Correct this range …").click()
    expect(page.get_by_role("dialog")).to_contain_text(says)
    assert fields(page.get_by_role("dialog")) == ["", ""]


BUCKETS = {"start": [NOW, NOW + 10_000], "end": [NOW + 10_000, NOW + 20_000], "mean_error": [0.1, 0.2]}
LOADS = {"at": ARRIVALS, "tasks": [[1] * 11, [2] * 11], "imbalance": [0.1] * 11}


@pytest.mark.parametrize(
    ("part", "chart", "values", "ends"),
    [
        ("promise", "Error", {"answers": [{"answer": "sum", "series": BUCKETS}]}, ["22:13:20", "22:13:40"]),
        ("answers", "v", {"chart": {"at": ARRIVALS, "series": [{"name": "v", "latest": [1] * 11}]}}, None),
        ("frontier", "Wall clock behind", {"wall": {"at": ARRIVALS, "emitted_at": ARRIVALS}}, ["", "22:13:21.500"]),
        ("kind", "Load of each task", {"kind": "emd_join", "loads": LOADS}, ["22:12:20", "22:12:50.001"]),
        ("kind", "Imbalance", {"kind": "spatial_join", "loads": LOADS}, ["22:12:20", "22:12:50.001"]),
    ],
)
def test_a_correction_takes_the_range_that_is_drawn_in_any_chart(site, window, part, chart, values, ends):
    page = drawn(window, site, part, re.compile(f"^{chart}"), "Home", **values)
    site.answers["queries/q/uncorrected"] = (200, LATE)
    page.get_by_role("button", name="Correct …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    times = [text.partition(" ")[2] for text in fields(dialog)]
    assert times == (ends or ["22:13:20", "22:13:22"])


def test_a_range_of_the_ledger_is_drawn_on_its_line_and_a_gap_has_a_button(site, window):
    gaps = [{"from": None, "to": NOW, "late": 7}, {"from": NOW + 4000, "to": NOW + 8000, "late": 0, "is_open": True}]
    site.query("q", ledger={"gaps": gaps, "gaps_total": 2, "gaps_late": 7, "committed": NOW + 8000})
    site.answers["queries/q/actions"] = (200, {"actions": [correction()]})
    site.answers["queries/q/uncorrected"] = (200, LATE)
    page = shown(window, "queries/q?part=ledger")
    gap = page.get_by_role("button", name="Correct this gap …")
    expect(gap).to_have_count(1)  # the other one has nothing late
    with page.expect_request(f"{SITE}{BASE}api/queries/q/uncorrected?to={NOW}"):
        gap.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("the 7 late tuples that arrived then")
    page.keyboard.press("Escape")
    line = page.locator("svg.timeline").bounding_box()
    page.mouse.move(line["x"] + 92 + 100, line["y"] + 20)
    page.mouse.down()
    page.mouse.move(line["x"] + 92 + 200, line["y"] + 20, steps=4)
    page.mouse.up()
    expect(page.locator("svg.timeline .drawn")).to_have_count(1)
    with page.expect_request(re.compile(r"uncorrected\?from=\d+&to=\d+$")):
        page.get_by_role("button", name="Correct this range …").click()


def test_a_correction_without_a_range_asks_before_it_takes_everything(site, window):
    site.query("q")
    site.answers["queries/q/actions"] = (200, {"actions": [correction(asks="It takes all windows.")]})
    site.answers["queries/q/uncorrected"] = (200, LATE)
    page = shown(window, "queries/q")
    page.get_by_role("button", name="UTC").click()
    page.get_by_role("button", name="Correct …").press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Correct", exact=True).press("Enter")
    question = dialog.get_by_role("alert")
    expect(question).to_have_text(
        "It takes all windows. No correction covers 7 late tuples, "
        "of event times 2023-11-14 22:12:20 to 2023-11-14 22:12:50.001."
    )
    expect(question).to_be_focused()
    page.keyboard.press("Enter")
    assert site.sent == []
    dialog.locator("input[name=to]").fill("2023-11-14T22:00:00.000")
    expect(question).to_have_count(0)
    dialog.locator("input[name=to]").fill("")
    dialog.get_by_role("button", name="Correct", exact=True).click()
    dialog.get_by_role("button", name="Correct everything", exact=True).press("Enter")
    expect(dialog).to_have_count(0)
    assert [body for _, _, body in site.sent][-1]["conf"] == {"more": 1}


PAUSED = {"kind": "correct", "dag": "correct_q", "says": "correct_q is paused: 7 late tuples wait."}


def test_a_paused_dag_that_holds_something_up_is_a_warning_with_the_way_to_unpause_it(site, window):
    requests = [{"method": "PATCH", "path": "dags/correct_q", "body": {"is_paused": False}}]
    unpause = {"name": "unpause_correct", "title": "Unpause correct_q", "says": "Its schedule runs again."}
    unpause |= {"is_allowed": True, "fields": [], "requests": requests, "run": "dags/correct_q"}
    site.query("q")
    site.answers["queries/q/summary"][1]["paused"] = [PAUSED]
    page = shown(window, "queries/q")
    warning = page.get_by_role("group", name="correct_q is paused")
    expect(warning).to_contain_text("7 late tuples wait")
    site.answers["queries/q/actions"] = (200, {"actions": [unpause]})  # paused since the page has read the actions
    warning.get_by_role("button", name="Unpause correct_q …").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Its schedule runs again.")
    site.answers["queries/q/summary"][1]["paused"] = []
    dialog.get_by_role("button", name="Unpause correct_q", exact=True).press("Enter")
    expect(warning).to_have_count(0)
    assert site.sent == [("PATCH", "/some/prefix/api/v2/dags/correct_q", {"is_paused": False})]
    expect(page.get_by_role("group", name="Actions").get_by_role("button")).to_have_count(0)


def test_a_stream_with_a_paused_dag_needs_attention_and_leads_to_the_dag(site, window):
    site.streams(stream("well"), stream("q", paused=[PAUSED]), ill=1)
    page = shown(window, "")
    assert page.title() == "(1) Streams · tailrace"
    card = page.locator(".ill article.warn")
    expect(card).to_contain_text("7 late tuples wait")
    for place in (card, page.locator("#rows")):
        link = place.get_by_role("link", name="Unpause correct_q in Airflow")
        expect(link).to_have_attribute("href", f"{SITE}/some/prefix/dags/correct_q")


def test_the_head_links_to_the_dags_that_there_are_and_to_the_log_of_a_driver(site, window):
    site.query("q")
    dags = {"stream": None, "correct": "correct_q", "calibrate": None}
    site.answers["queries/q/summary"][1]["dags"] = dags
    page = shown(window, "queries/q")
    links = page.locator("#summary a")
    expect(links).to_have_text(["Correction", "Driver's log"])
    expect(links.last).to_have_attribute("href", f"{SITE}{BASE}driver_log/stream_q")
    dags["correct"] = None
    page.clock.fast_forward(6000)
    expect(page.locator("#summary")).to_contain_text("Airflow reads none of its DAGs now.")
    expect(links).to_have_text(["Driver's log"])


def test_what_is_not_known_of_a_stream_is_not_shown_as_none(site, window):
    site.query("q")
    summary = site.answers["queries/q/summary"][1]
    summary |= {"promise": None, "last_correction": None, "starts": 0, "has_late_tuples": True}
    page = shown(window, "queries/q")

    def figure(name: str) -> Any:
        return page.locator("#summary .figures > div", has_text=name).locator("dd")

    expect(figure("Promise")).to_have_text("unknown")
    expect(figure("Last correction")).to_have_text("–")
    expect(figure("Restarts lately")).to_have_text("0")
    summary["promise"] = {"state": "unknown", "detail": "its policy promises nothing", "word": "none"}
    page.clock.fast_forward(6000)
    expect(figure("Promise")).to_have_text("none")
    summary["promise"] = {"state": "kept", "detail": ""}
    page.clock.fast_forward(6000)
    expect(figure("Last correction")).to_have_text("none yet")
    summary["note"] = "table late: a file is missing"
    page.clock.fast_forward(6000)
    expect(figure("Last correction")).to_have_text("–")


def test_a_damaged_ledger_has_no_last_correction_that_is_not_there_yet(site, window):
    site.query("q")
    damaged = {"where": "q/correction_runs/a.parquet", "fault": "it has 10 bytes", "remedy": "mv", "fields": []}
    summary = site.answers["queries/q/summary"][1]
    summary |= {"promise": {"state": "kept", "detail": ""}, "last_correction": None, "damaged": [damaged]}
    page = shown(window, "queries/q")
    last = page.locator("#summary .figures > div", has_text="Last correction").locator("dd")
    expect(last).to_have_text("none yet")
    damaged["fields"] = ["last_correction"]
    page.clock.fast_forward(6000)
    expect(last).to_have_text("–")


def test_figures_of_tables_that_are_older_than_the_page_say_how_old_they_are(site, window):
    facts = {
        "promise": {"state": "kept", "detail": ""},
        "late_hour": 5,
        "quarantined_hour": 0,
        "last_correction": {"at": NOW - 60_000, "late": 3},
        "answers": 70,
    }
    site.query("q")
    site.streams(stream("q", **facts, facts_age_ms=41_300))
    row = shown(window, "").get_by_role("row").filter(has_text="running")
    expect(row.get_by_text("41 s old")).to_have_count(4)
    summary = site.answers["queries/q/summary"][1]
    summary |= {**facts, "facts_age_ms": 125_000, "report_age_ms": 33_000}
    page = shown(window, "queries/q")
    figures = page.locator("#summary .figures > div", has_text="2 min 5 s old").locator("dt")
    expect(figures).to_have_text(["Promise", "Late, last hour", "Quarantined, last hour", "Last correction"])
    of_driver = page.locator("#summary .figures > div", has_text="33 s old").locator("dt")
    expect(of_driver).to_have_text(["Frontier", "K", "Coverage", "Answers"])
    summary["facts_age_ms"] = 9_000
    page.clock.fast_forward(1000)  # sooner than usual, as what it said was old
    expect(figures).to_have_count(0)


def test_head_and_part_are_asked_together_and_the_page_is_as_fresh_as_the_older_of_them(site, window):
    site.query("q")
    page, asked = shown(window, "queries/q?part=late"), []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path.rsplit("/", 1)[-1]))
    with page.expect_request("**/late"):
        page.clock.fast_forward(6000)
    assert asked[:2] == ["summary", "late"]
    window.expected += ["status of 503"] * 3  # it may be asked more often
    problem = {"where": "late", "fault": "its log is lost", "remedy": "a backup"}
    site.answers["queries/q/late"] = (503, {"problems": [problem], "is_temporary": True})
    page.clock.fast_forward(6000)
    of_part = page.locator("#part .note time")
    expect(of_part).to_have_count(1)
    site.answers["queries/q/summary"][1]["state"] = {"word": "drained", "tone": "idle", "why": None}
    page.clock.fast_forward(6000)
    expect(page.locator("#summary .badge", has_text="drained")).to_be_visible()
    of_page = page.locator("#fresh time").get_attribute("datetime")
    assert of_page[:-5] == of_part.get_attribute("datetime")[:-5], "to the second"


def test_a_stream_with_a_damaged_table_is_ill_and_says_where_and_what_to_do(site, window):
    damaged = {
        "where": "/wh/q/results/part-7.parquet",
        "fault": "it is damaged: it has 10 bytes, and 4,096 when it was written",
        "remedy": "Run tailrace drain q, if a driver runs it; then mv /wh/q/results /wh/q/results.damaged",
        "fields": [],
    }
    site.streams(stream("well"), stream("q", damaged=[damaged]), ill=1)
    page = shown(window, "")
    assert page.title() == "(1) Streams · tailrace"
    card = page.locator(".ill article")
    expect(card).to_contain_text("1 table is damaged")
    expect(card).to_contain_text("part-7.parquet")
    expect(card).to_contain_text("Run tailrace drain q")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="q", exact=True))
    expect(row).to_contain_text("part-7.parquet: it is damaged: it has 10 bytes")
    expect(row).to_have_class(re.compile("wrong"))


def test_k_and_its_changes_are_those_of_the_batches_and_not_of_settings_or_of_points(site, window):
    settled = {"at": None, "tick": 0, "about": "settings", "version": 1, "what": "K 200 ms", "evidence": ""}
    series = {**OVER_ARRIVAL["series"], "k_ms": [9_000] * len(OVER_ARRIVAL["series"]["at"])}
    answer = {**OVER_ARRIVAL, "series": series, "changes": [settled], "k_ms": 3_200, "k_changes": 7}
    site.query("q", frontier=answer)
    page = shown(window, "queries/q")
    figures = page.locator("#part .figures > div")
    expect(figures.filter(has_text="Changes of K").locator("dd")).to_have_text("7")
    expect(figures.filter(has=page.locator("dt", has_text=re.compile("^K$"))).locator("dd")).to_have_text("3.2 s")
    expect(page.get_by_role("table", name="Settings of disorder").locator("tbody tr")).to_have_count(1)


def test_times_within_sentences_are_in_the_chosen_zone_and_what_is_to_be_typed_stays(run_js):
    texts = [
        "since 2026-11-27T01:50:24.682Z; what came later",
        "arrival [2026-11-27T01:25:25.000Z, 2026-11-27T02:29:25+01:00)",
        "tailrace correct --from 2026-11-27T01:00:00.000Z --to=2026-11-27T02:00:00Z",
        "the run manual__2026-11-27T01:00:00.000Z_ab12, data/2026-11-27T01:00:00Z.parquet",
        "never 2026-13-41T99:00:00Z",
    ]
    assert run_js("time.js", f"{json.dumps(texts)}.map(m.inZone)") == [
        "since 2026-11-27 02:50:24.682; what came later",
        "arrival [2026-11-27 02:25:25, 2026-11-27 02:29:25)",
        *texts[2:],
    ]


def test_sentences_follow_the_switch_of_zones_and_records_do_not(site, window):
    at = "2026-11-27T01:50:24Z"
    site.query(
        "q",
        quarantine={"total": 1, "records": [{"record": f'{{"at": "{at}"}}', "reason": "no id"}], "note": f"since {at}"},
    )
    page = shown(window, "queries/q?part=quarantine")
    expect(page.locator("#part .note")).to_have_text("since 2026-11-27 02:50:24")
    page.get_by_role("button", name="UTC").click()
    expect(page.locator("#part .note")).to_have_text("since 2026-11-27 01:50:24")
    expect(page.locator("#part .record")).to_contain_text(at)


def test_the_interval_of_a_version_is_in_the_zone_of_all_other_times(site, window):
    interval = "arrival [2013-02-15T05:00:00.000Z, 2013-03-01T05:00:00.000Z)"
    version = {"as_of": NOW, "source": "correction", "values": [1], "interval": interval}
    site.query("q", answer={"columns": [{"name": "v", "type": "number"}], "versions": [version]})
    page = shown(window, "queries/q?part=answer")
    page.get_by_role("button", name="UTC").click()
    cell = page.get_by_role("cell").filter(has_text="arrival")
    expect(cell).to_have_text("arrival [2013-02-15 05:00:00, 2013-03-01 05:00:00)")


def test_a_part_is_shown_from_its_beginning_and_the_way_back_leads_to_the_row(site, window):
    rows = [
        {"id": str(number), "streamed": [number], "latest": [number], "is_changed": False, "coverage": 1, "as_of": NOW}
        for number in range(100)
    ]
    versions = [{"as_of": NOW + number, "source": "stream", "values": [number]} for number in range(100)]
    columns = [{"name": "v", "type": "number"}]
    site.query("q", answers={"columns": columns, "rows": rows}, answer={"columns": columns, "versions": versions})
    page = shown(window, "queries/q?part=answers")
    page.set_viewport_size({"width": 1280, "height": 220})  # lower than what stands there while a part is loaded
    page.get_by_role("link", name="Versions").nth(90).click()
    expect(page.get_by_role("heading", name="One answer")).to_be_visible()
    expect(page.get_by_role("tab", name="Answers")).to_be_in_viewport()
    page.go_back()
    expect(page.get_by_role("link", name="Versions").nth(90)).to_be_in_viewport()


@pytest.mark.parametrize("address", ["", "queries/q", "queries/q?part=answers", "queries/q?part=answers&key=a"])
def test_no_request_is_sent_twice(site, window, address):
    site.streams(stream("q"))
    site.query("q")
    page, sent = window.page(), []
    page.on("request", lambda request: sent.append(request.url.removeprefix(f"{SITE}{BASE}")))
    page.goto(f"{SITE}{BASE}{address}")
    page.locator("#fresh", has_text="Updated").wait_for()
    page.wait_for_selector(".loading", state="detached")
    asked = [path for path in sent if path.startswith("api/")]
    assert len(asked) == len(set(asked))
    assert ("api/queries/q/summary" if address else "api/streams?offset=0&limit=50") in asked


@pytest.mark.parametrize("path", ["queries/q/summary", "queries/q/late"])
def test_requests_do_not_wait_for_the_modules_of_the_page(site, window, path):
    site.query("q")
    nothing = {"status": 200, "content_type": "text/javascript", "body": ""}
    window.context.route("**/static/query.js", lambda route: route.fulfill(**nothing))
    page = window.page()
    with page.expect_request(f"{SITE}{BASE}api/{path}"):
        page.goto(f"{SITE}{BASE}queries/q?part=late")


def test_the_map_of_a_table_join_says_what_the_newest_version_of_its_table_is(site, window):
    versions = [
        {"version": 1, "at": None, "from_segment": 0, "rows": 16, "evidence": "declared"},
        {"version": 2, "at": NOW, "from_segment": 3, "rows": 14, "evidence": "read"},
    ]
    kind = {"kind": "spatial_join", "join": "table", "cells": None, "table": {"path": "t", "versions": versions}}
    site.query("q", kind=kind)
    page = shown(window, "queries/q?part=kind")
    figures = page.locator("#part .figures").first
    expect(figures.locator("div", has_text="Versions of the table").locator("dd")).to_have_text("2")
    expect(figures.locator("div", has_text="Rows of the newest").locator("dd")).to_have_text("14")


def test_the_last_boundaries_hold_until_the_end_of_the_range(site, window):
    boundaries = {"at": [NOW, NOW + 1000], "cuts": [[90, 105]]}
    kind = {"kind": "emd_join", "from": NOW, "to": NOW + 9000, "boundaries": boundaries}
    site.query("q", kind=kind)
    page = shown(window, "queries/q?part=kind")
    chart = page.get_by_role("img", name=re.compile("^Boundaries between tasks"))
    expect(chart).to_have_attribute("aria-label", re.compile("3 points .* last 105"))


def test_what_an_action_did_is_announced_by_one_live_region(site, window):
    site.query("q")
    action = {"name": "deploy", "title": "Deploy", "says": "", "is_allowed": True, "fields": []}
    action |= {
        "requests": [{"method": "POST", "path": "dags/d/dagRuns", "body": {}}],
        "run": "dags/d/runs/{dag_run_id}",
    }
    site.answers["queries/q/actions"] = (200, {"actions": [action]})
    page = shown(window, "queries/q")
    page.get_by_role("button", name="Deploy …").click()
    page.get_by_role("dialog").get_by_role("button", name="Deploy", exact=True).click()
    expect(page.locator("#actions")).to_contain_text("sent to Airflow")
    expect(page.locator("[role=status], [aria-live]", has_text="sent to Airflow")).to_have_count(1)


def test_key_figures_stay_within_their_cells_and_break_no_number(site, window):
    gap = {"from": NOW, "to": NOW + 1, "late": 5_000_000}
    site.query("q", ledger={"gaps": [gap], "gaps_total": 6000, "gaps_late": 5_000_000, "committed": NOW + 123})
    page = shown(window, "queries/q?part=ledger")
    cells = page.locator(".figures > div")
    assert cells.evaluate_all("cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth).length") == 0
    heights = page.locator("#part .figures time").evaluate(
        "node => [node.getClientRects().length, parseFloat(getComputedStyle(node).lineHeight) || 20]"
    )
    assert heights[0] == 2  # the date and the time of day


def test_axes_of_counts_have_whole_numbers(run_js):
    assert run_js("axes.js", "m.COUNT_STEPS.every(Number.isInteger)")
    assert run_js("axes.js", "m.COUNT_STEPS.slice(0, 4)") == [1, 2, 5, 10]


@pytest.mark.parametrize(
    ("show", "values", "labels"),
    [
        ("share", [0.9913, 0.99132, 0.99134], ["99.13 %", "99.132 %", "99.134 %"]),
        ("share", [0, 0.5, 1], ["0 %", "50 %", "100 %"]),
        ("duration", [433_785_600_000, 433_786_200_000], ["5020 d 16 h", "5020 d 16 h 10 min"]),
        ("duration", [None, 5_251, 5_252], [None, "5 s 251 ms", "5 s 252 ms"]),
        ("duration", [3_600_000, 7_200_000], ["1 h", "2 h"]),
        ("rough", [10_001, 10_002], ["10,001", "10,002"]),
    ],
)
def test_no_two_ticks_of_an_axis_have_one_label(run_js, show, values, labels):
    write = f"(await import('{BASE}static/format.js')).{show}"
    assert run_js("axes.js", f"m.valueLabels({json.dumps(values)}, {write})") == labels


CUT_LABELS = """
const write = CanvasRenderingContext2D.prototype.fillText;
window.cut = [];
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const [half, at] = [this.measureText(text).width / 2, this.getTransform().transformPoint({ x, y }).x];
    if (this.textAlign === "center" && (at < half || at + half > this.canvas.width)) window.cut.push(text);
    return write.call(this, text, x, y);
};"""


def test_the_first_and_the_last_tick_of_an_axis_are_within_its_card(site, window):
    window.context.add_init_script(CUT_LABELS)
    site.query("q", frontier=OVER_ARRIVAL)
    page = shown(window, "queries/q")
    expect(page.locator("#part canvas").first).to_be_visible()
    assert page.evaluate("window.cut") == []


ACTIVITY = {
    "from": NOW - 180_000,
    "to": NOW,
    "series": {
        "at": [NOW - 180_000, NOW - 120_000, NOW - 60_000, NOW],
        "rows_s": [None, 10.0, 20.0, 30.0],
        "rows_left": [4, 5, 6, 1_200],
        "behind_ms": [2_000] * 3 + [90_000],
        "speed": [None, 1.0, 1.0, 0.5],
        "batch_ms": [200] * 4,
        "cores": [None] * 4,
        "memory": [None] * 4,
    },
    "events": [
        {"at": NOW - 30_000, "until": None, "what": "problem", "text": "source events: the folder is gone"},
        {"at": NOW - 60_000, "until": None, "what": "began", "text": None},
        {"at": NOW - 90_000, "until": None, "what": "died", "text": None},
    ],
    "events_total": 3,
    "deaths": 7,
    "newest": {
        "at": [0, NOW],
        "rows_s": [None, 30.0],
        "rows_left": [5, 900],
        "behind_ms": [9, 90_000],
        "speed": [None, 0.5],
    },
}


def test_the_activity_of_a_stream_has_its_figures_deaths_and_problems(site, window):
    site.query("q", activity=ACTIVITY)
    page = shown(window, "queries/q?part=activity")
    figures = page.locator("#part .figures > div")
    assert [text.replace("\n", " ") for text in figures.all_inner_texts()] == [
        "Rows a second 30 / s",
        "Backlog 900",
        "Behind 1 min 30 s",
        "Pace 0.5 ×",
        "Deaths of the driver 7",
    ]
    expect(page.get_by_text("The driver can't measure it.")).to_have_count(2)
    events = page.get_by_role("table", name="Restarts and problems").locator("tbody tr")
    expect(events).to_have_count(3)
    expect(events.first).to_contain_text("source events: the folder is gone")
    expect(events.first).to_contain_text("not over")
    expect(events.last).to_contain_text("driver died")


def test_the_course_of_the_last_hour_is_on_streams_and_in_the_head(site, window):
    recent = {name: ACTIVITY["series"][name] for name in ("at", "rows_s", "rows_left", "behind_ms")}
    site.streams(stream("q", recent=recent), stream("r", recent=None))
    page = shown(window, "")
    expect(page.get_by_role("img", name="Rows a second in the last hour: at most 30, at least 10")).to_have_count(1)
    expect(page.get_by_role("img", name="Unread rows in the last hour: at most 1,200, at least 4")).to_have_count(1)
    expect(page.get_by_role("img", name="Behind in the last hour: at most 1 min 30 s, at least 2 s")).to_have_count(1)
    site.query("q")
    site.answers["queries/q/summary"][1].update(recent=recent, rows_left=1_200, now=NOW)
    page = shown(window, "queries/q")
    rows = page.locator("#summary .figures > div", has_text="Rows a second").locator("dd")
    expect(rows).to_contain_text("30 / s")
    expect(page.get_by_role("img", name=re.compile("^Unread rows in the last hour: at most 1,200"))).to_have_count(1)
    site.answers["queries/q/summary"][1]["now"] = NOW + 1_200_000
    page.clock.fast_forward(6000)
    expect(rows).to_contain_text("–")


def test_words_explain_themselves_to_the_mouse_and_to_the_keyboard(site, window):
    site.query("q")
    page = shown(window, "queries/q")
    term, tip = page.locator("#summary dt .term", has_text=re.compile("^K$")), page.get_by_role("tooltip")
    term.hover()
    expect(tip).to_contain_text("How long an answer waits for late records")
    page.mouse.move(0, 0)
    expect(tip).to_have_count(0)
    term.focus()
    expect(tip).to_contain_text("How long an answer waits")
    page.keyboard.press("Escape")
    expect(tip).to_have_count(0)
    page = window.page()
    page.goto(f"{SITE}{BASE}glossary")
    expect(page.locator("dt", has_text="Frontier")).to_be_visible()


WRITE, NONE_SUCH = "Write the time as 2026-11-30 14:05:00", "There is no such time in Europe/Berlin"


@pytest.mark.parametrize("field", ["from", "to"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2023-11-14 24:00", NONE_SUCH),
        ("2023-11-31 10:00", NONE_SUCH),
        ("2026-03-29 02:30", NONE_SUCH),
        ("0026-11-30 10:00", NONE_SUCH),
        ("14.11.2023", WRITE),
        ("tomorrow", WRITE),
    ],
)
def test_a_time_that_is_none_is_refused_where_it_is_typed(site, window, field, text, says):
    site.query("q", late=OVER_ARRIVAL)
    page = shown(window, "queries/q?part=late")
    before = page.url
    form = page.get_by_role("form", name="Range")
    form.locator("[name=from]").fill("2020-01-01")
    typed = form.locator(f"[name={field}]")
    typed.fill(text)
    page.get_by_role("button", name="Show", exact=True).click()
    assert typed.evaluate("field => field.validationMessage") == says
    assert page.url == before


def test_an_hour_that_comes_twice_stays_the_one_that_it_was(site, window):
    second = 1_792_891_800_000  # 2026-10-25, 02:30 in Berlin for the second time
    site.query("q", late={**OVER_ARRIVAL, "from": second, "to": second + 7_200_000})
    page = shown(window, "queries/q?part=late")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page).to_have_url(re.compile(f"from={second}&to={second + 7_200_000}"))


def test_a_range_that_ends_before_it_begins_is_refused_until_either_time_is_mended(site, window):
    site.query("q", late=OVER_ARRIVAL)
    page = shown(window, "queries/q?part=late")
    form = page.get_by_role("form", name="Range")
    form.get_by_label(re.compile("from")).fill("2023-11-14 23:00")
    form.get_by_label(re.compile("^to")).fill("2023-11-14 22:00:00")
    form.get_by_role("button", name="Show").click()
    to = form.get_by_label(re.compile("^to"))
    assert to.evaluate("field => field.validationMessage") == "The end must be after the start"
    form.get_by_label(re.compile("from")).fill("2023-11-14 21:00:00.5")
    form.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("from=1699992000500&to=1699995600000"))  # in Berlin


SMALL = """() => [...document.querySelectorAll('body *')].filter(each =>
    [...each.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim()) &&
    each.checkVisibility() && parseFloat(getComputedStyle(each).fontSize) < 11.99
).map(each => `${each.tagName} ${each.className} ${each.textContent}`)"""


@pytest.mark.parametrize("part", PARTS)
def test_no_text_is_smaller_than_12_px(site, window, part):
    site.query("q", **{part: OVER_ARRIVAL})
    assert shown(window, f"queries/q?part={part}").evaluate(SMALL) == []


@pytest.mark.parametrize("path", ["", "glossary"])
def test_no_text_of_streams_and_of_the_glossary_is_smaller_either(site, window, path):
    site.streams(stream("q", "bad"))
    page = window.page(f"{BASE}{path}")
    page.locator("#rows tbody tr, #words dt").first.wait_for()
    assert page.evaluate(SMALL) == []


def test_the_first_chart_is_on_the_first_screen_of_a_phone_and_actions_are_a_button_away(site, browser):
    watched = chromium.open_window(browser, SITE, viewport={"width": 390, "height": 844}, is_mobile=True)
    watched.context.route("**/*", site.route)
    site.query("q", frontier=OVER_ARRIVAL)
    site.answers["queries/q/actions"] = (200, {"actions": [correction()]})
    page = shown(watched, "queries/q")
    chart = page.get_by_role("img").filter(has=page.locator("canvas")).first
    box = chart.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] / 2 < 844, "at least half of it"
    action, link = page.get_by_role("button", name="Correct …"), page.get_by_role("button", name="Copy link")
    expect(action).to_be_hidden()
    expect(link).to_be_hidden()
    page.get_by_role("button", name="Actions and links").click()
    expect(action).to_be_visible()
    expect(link).to_be_visible()
    action.click()
    page.get_by_role("dialog").locator("input[name=from]").fill("2023-11-14 22:00")
    page.get_by_role("dialog").get_by_role("button", name="Correct", exact=True).click()
    page.get_by_role("button", name="Actions and links").click()
    expect(action).to_be_hidden()
    expect(page.get_by_role("link", name="See its run")).to_be_visible()
    form = page.get_by_role("form", name="Range")
    expect(form.get_by_label(re.compile("from"))).to_be_hidden()
    form.get_by_role("button", name="Other times").click()
    expect(form.get_by_label(re.compile("from"))).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, "nothing is wider than the screen"
    page.goto(f"{SITE}{BASE}queries/q?from={NOW}&to={NOW + 1_234}")
    expect(form.get_by_label(re.compile("from"))).to_be_visible()
    assert watched.unexpected() == []
    watched.context.close()


def test_a_phone_shows_ten_cards_until_it_is_asked_for_all(site, browser):
    watched = chromium.open_window(browser, SITE, viewport={"width": 390, "height": 844}, is_mobile=True)
    watched.context.route("**/*", site.route)
    site.streams(*(stream(f"q{number}") for number in range(12)))
    page = shown(watched, "")
    expect(page.locator("#rows tbody tr:visible")).to_have_count(10)
    page.get_by_role("button", name="Show all 12").press("Enter")
    expect(page.locator("#rows tbody tr:visible")).to_have_count(12)
    expect(page.locator("#rows .scroll")).to_be_focused()
    with page.expect_response("**/api/streams*"):
        page.clock.run_for(20_000)
    expect(page.locator("#rows tbody tr:visible")).to_have_count(12)
    page.set_viewport_size({"width": 1366, "height": 768})
    expect(page.get_by_role("button", name="Show all 12")).to_be_hidden()
    assert watched.unexpected() == []
    watched.context.close()
