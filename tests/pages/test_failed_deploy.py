"""A deployment that fails is red on Streams and in the head, with the reason that its task has left."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from kit.console.bed import PAGES, Bed
from kit.console.pages import LONG_MS, act, await_page
from kit.console.rights import WITHOUT_LOGS

pytestmark = pytest.mark.xdist_group("console")

QUERY = "unborn"
REASON = "valeu"


@pytest.fixture
def misspelt(bed: Bed) -> Iterator[None]:
    """A query that was never run, with a misspelt column; its runs are gone afterwards."""
    file, api = bed.warehouse.queries / f"{QUERY}.yaml", bed.api()
    text = file.read_text()
    file.write_text(text.replace("column: value", f"column: {REASON}"))
    yield
    file.write_text(text)
    for run in api.call("GET", f"dags/stream_{QUERY}/dagRuns")["dag_runs"]:
        api.call("DELETE", f"dags/stream_{QUERY}/dagRuns/{run['dag_run_id']}")


def test_a_misspelt_column_is_red_with_its_reason_once_its_run_has_failed(bed, window, misspelt):
    bed.await_dags(f"stream_{QUERY}")
    watched = window("user")
    head, streams = (watched.page(f"{PAGES}{path}") for path in (f"queries/{QUERY}", f"?search={QUERY}"))
    for page in (head, streams):
        await_page(page)
    state, row = head.locator("#summary .big"), streams.locator("#rows tbody tr").filter(has_text=QUERY)
    expect(state).to_have_text("not deployed")
    expect(row.locator(".badge.bad")).to_have_count(0)
    act(head, "Deploy")
    expect(state).to_have_text("deploy failed", timeout=LONG_MS)
    expect(state.locator(".badge")).to_have_class(re.compile(r"\bbad\b"))
    expect(head.locator("#summary .lead")).to_contain_text(REASON)
    log = head.get_by_role("list", name="Last runs").get_by_role("link", name="Its log")
    expect(log).to_have_attribute("href", re.compile(rf"/dags/stream_{QUERY}/runs/[^/]+/tasks/check$"))
    expect(row.locator(".badge.bad").first).to_have_text("deploy failed")
    expect(row).to_contain_text(REASON)
    expect(streams.locator(".verdict")).to_contain_text("attention")
    with bed.client(WITHOUT_LOGS) as client:
        answer = client.get(f"{PAGES}api/queries/{QUERY}/summary")
    assert answer.json()["state"]["word"] == "deploy failed"
    assert REASON not in answer.text, "it may quote a record"
