"""The whole story in the browser: deploy, watch, see the promise break, correct, see 100 %, find the late tuple.

Its tests share one stream, in this order.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from generators.delays import delay_model
from kit.console.bed import PAGES
from kit.console.feed import Feed
from kit.console.pages import LONG_MS, SeenStates, act, await_page
from kit.console.warehouse import MINUTE_MS, spoil
from kit.parts import chromium
from kit.parts.chromium import Watched
from tailrace.drivers import driver_lifecycle
from tailrace.drivers.launch import starts_file
from tailrace.ground.duration import format_time
from tailrace.storage.tables import Tables

pytestmark = [pytest.mark.needs("spark"), pytest.mark.xdist_group("console")]

QUERY = "orders"
LATE, VALUE = 40, 1000.0
MINUTE_S = 60
SINCE = re.compile(r"since \d\d:\d\d:\d\d")


@pytest.fixture(scope="module")
def feed(bed) -> Feed:
    start_ms = (bed.warehouse.now_ms // MINUTE_MS - 30) * MINUTE_MS
    feed = Feed(
        bed.warehouse.source(QUERY, "readings"), start_ms, delay_model("exponential:30 ms"), rate=10, minutes=30
    )
    feed.give(start_ms + 4 * MINUTE_MS)
    return feed


@pytest.fixture(scope="module")
def page(bed, browser) -> Iterator[Page]:
    """A page that stays open all the time, of a user who may trigger runs, and may not administrate."""
    window: Watched = chromium.open_window(browser, bed.url)
    window.context.add_cookies(chromium.cookies(bed.url, bed.api("user").token))
    page = window.page(f"{PAGES}queries/{QUERY}")
    await_page(page)
    page.get_by_role("button", name="UTC").click()
    yield page
    assert window.unexpected() == []
    window.context.close()


def figure(page: Page, name: str) -> Locator:
    """The value of a key figure at the head of the page."""
    return (
        page.locator("#summary dl > div").filter(has=page.locator("dt", has_text=re.compile(f"^{name}$"))).locator("dd")
    )


def field_of(time_ms: int) -> str:
    """A time as a field of a form has it, in UTC."""
    return format_time(time_ms).removesuffix("Z")[:19]


def state(page: Page) -> Locator:
    return page.locator("#summary .big")


@pytest.fixture(scope="module")
def states(bed) -> Iterator[SeenStates]:
    """All states that the stream has had."""
    with SeenStates(bed, QUERY) as seen:
        bed.until(lambda: seen.states)
        yield seen


def test_a_stream_is_deployed_from_its_page_and_the_page_leads_to_its_run(bed, feed, page, states):
    expect(state(page)).to_have_text("not deployed")
    act(page, "Deploy")
    run = page.get_by_role("link", name=re.compile("See its run")).get_attribute("href")
    assert run.startswith(f"{bed.url}/dags/stream_{QUERY}/runs/")
    expect(state(page)).to_have_text(re.compile("running|idle"), timeout=LONG_MS)
    assert states.words[:4] == ["not deployed", "deploying", "starting", "running"]
    sinces = [seen["since"] for seen in states.states[1:4]]
    assert sinces == sorted(sinces)
    expect(page.locator("#summary .title")).to_contain_text(SINCE)
    with bed.client("user") as client:
        run_id = run.rsplit("/", 1)[1]
        assert client.get(f"/api/v2/dags/stream_{QUERY}/dagRuns/{run_id}").json()["state"] == "running"


def test_numbers_move_while_one_watches(bed, feed, page):
    expect(figure(page, "Answers")).not_to_have_text("–", timeout=LONG_MS)
    before = figure(page, "Answers").inner_text()
    feed.give(feed.start_ms + 6 * MINUTE_MS)
    expect(figure(page, "Answers")).not_to_have_text(before, timeout=LONG_MS)
    expect(figure(page, "Unread rows")).to_have_text("0", timeout=LONG_MS)


def test_a_killed_driver_is_restarting_until_it_reads_again(bed, feed, page, states):
    """Its launcher has restarted it so often that it waits for some seconds; all its restarts are shown."""
    layout, before = bed.warehouse.layout(QUERY), len(states.words)
    starts_file(layout.home).write_text(json.dumps({"restarts": [time.time() - age_s for age_s in (40, 30, 20)]}))
    driver = driver_lifecycle.inspect(bed.hosting.host, layout)
    killed_s = int(time.time())
    os.kill(driver.pid, signal.SIGKILL)
    expect(state(page)).to_have_text("restarting", timeout=LONG_MS)
    expect(page.locator("#summary .title")).to_contain_text(SINCE)
    expect(state(page)).to_have_text(re.compile("running|idle"), timeout=LONG_MS)
    seen = states.states[before:]
    assert [one["word"] for one in seen if one["word"] not in ("running", "idle")] == ["restarting"]
    assert killed_s * 1000 <= next(one["since"] for one in seen if one["word"] == "restarting") <= seen[-1]["since"]
    expect(figure(page, "Restarts lately")).to_have_text("4")


def test_what_comes_late_is_counted(bed, feed, page):
    feed.give_late(feed.start_ms + MINUTE_MS, feed.start_ms + 3 * MINUTE_MS, LATE, VALUE)
    feed.give(feed.start_ms + 8 * MINUTE_MS)
    page.get_by_role("tab", name="Late").click()
    late = (
        page.locator("#part dl > div").filter(has=page.locator("dt", has_text=re.compile("^Late rows$"))).locator("dd")
    )
    expect(late).to_have_text(re.compile(rf"^{LATE}\b|^[5-9]\d$"), timeout=LONG_MS)


def test_the_promise_breaks_once_a_part_is_corrected(bed, feed, page):
    act(page, "Correct", From=field_of(feed.start_ms + MINUTE_MS), To=field_of(feed.start_ms + 2 * MINUTE_MS))
    page.get_by_role("tab", name="Promise").click()
    expect(page.locator("#part")).to_contain_text("promise broken", timeout=LONG_MS)
    expect(page.locator("#part")).to_contain_text("at least 0.99 promised")
    expect(right_after_correction(page)).not_to_have_text("100 %")


def right_after_correction(page: Page) -> Locator:
    return page.locator("#part .row").filter(has_text="As corrected").locator(".bar")


def test_all_is_right_once_all_is_corrected(bed, feed, page):
    page.get_by_role("tab", name="Promise").click()
    act(page, "Correct")
    expect(right_after_correction(page)).to_have_text("100 %", timeout=LONG_MS)
    runs = Tables(bed.warehouse.layout(QUERY)).read("correction_runs")
    assert sum(runs["late"].to_pylist()) >= LATE
    page.get_by_role("tab", name="Ledger").click()
    expect(page.get_by_role("row").filter(has_text="correction")).to_have_count(runs.num_rows)


def test_one_answer_shows_its_versions_and_the_late_tuple_that_changed_it(bed, feed, page):
    page.get_by_role("tab", name="Answers").click()
    page.get_by_role("form", name="Range").get_by_label(re.compile("from")).fill(field_of(feed.start_ms + MINUTE_MS))
    page.get_by_role("form", name="Range").get_by_label(re.compile("^to")).fill(field_of(feed.start_ms + 2 * MINUTE_MS))
    page.get_by_role("form", name="Range").get_by_role("button", name="Show").click()
    page.locator("tr.marked").get_by_role("link", name="Versions").first.click()
    part = page.locator("#part")
    expect(part).to_contain_text("stream")
    expect(part).to_contain_text("correction")
    expect(part).to_contain_text(re.compile("|".join(map(str, feed.late_ids))))
    expect(part).to_contain_text("part-")  # the file it came in
    shared = page.url
    page.goto(shared)
    expect(page.locator("#part")).to_contain_text(re.compile("|".join(map(str, feed.late_ids))))


def test_a_wrong_column_shows_as_broken_within_a_minute(bed, feed, page):
    """By the clocks of the driver and of the page, and not by how long a busy machine takes for them."""
    page.clock.install()
    page.goto(f"{bed.url}{PAGES}")
    await_page(page)
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=re.compile(f"^{QUERY}")))
    expect(row.get_by_role("cell").first).not_to_contain_text("broken")
    spoil(bed.warehouse, QUERY)
    reports = set()

    def has_problem() -> bool:
        report = bed.status(QUERY)
        reports.add(report.at_ms)
        return report.problem is not None

    bed.until(has_problem)
    assert len(reports) <= MINUTE_S, "the driver reports each second"
    page.clock.fast_forward(MINUTE_S * 1000)
    expect(row.get_by_role("cell").first).to_contain_text("broken")
    expect(row.get_by_role("cell").first).to_contain_text("it has no column 'value'")


def test_the_stream_is_drained_from_its_page(bed, feed, page, states):
    page.goto(f"{bed.url}{PAGES}queries/{QUERY}")
    await_page(page)
    pid = bed.status(QUERY).pid
    os.kill(pid, signal.SIGSTOP)  # so that it is seen to drain, which takes no second else
    try:
        act(page, "Drain")
        expect(state(page)).to_have_text("draining", timeout=LONG_MS)
    finally:
        os.kill(pid, signal.SIGCONT)
    expect(state(page)).to_have_text("drained", timeout=LONG_MS)
    draining, drained = states.states[-2:]
    assert (draining["word"], drained["word"]) == ("draining", "drained")
    assert draining["since"] <= drained["since"]
    assert not {"unknown", "stopped", "stopping"} & {*states.words}
