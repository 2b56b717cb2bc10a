"""One Airflow with the console, one small warehouse and one browser, shared by all tests of the pages of a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, expect

from kit.console.bed import Bed, running_bed
from kit.parts import chromium
from kit.parts.chromium import Watched

expect.set_options(timeout=chromium.WAIT_MS)


@pytest.fixture(scope="session")
def bed(tmp_path_factory) -> Iterator[Bed]:
    chromium.program()  # without a browser, nothing is started in vain
    with running_bed(tmp_path_factory.mktemp("console")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser of one file's tests: a second one beside it, and asyncio, are refused by Playwright while it runs."""
    with chromium.running_browser() as running:
        yield running


OpenWindow = Callable[..., Watched]
"""Opens a window for a user, by default the admin, or for nobody (None)."""


@pytest.fixture
def window(bed, browser) -> Iterator[OpenWindow]:
    """Windows that fail their test at its end, whatever the console said, and for every request beyond the server."""
    opened: list[Watched] = []

    def open_window(user: str | None = "admin", **options) -> Watched:
        watched = chromium.open_window(browser, bed.url, **options)
        if user is not None:
            watched.context.add_cookies(chromium.cookies(bed.url, bed.api(user).token))
        opened.append(watched)
        return watched

    yield open_window
    faults = [fault for watched in opened for fault in watched.unexpected()]
    for watched in opened:
        watched.context.close()
    assert faults == []
