"""Draws every page of the console, light and dark, on a laptop and a phone: `make screenshots`.

    python tools/screenshots.py --output build/screenshots

The pages are those of the bed of the tests (`tests/kit/console/bed.py`): an embedded Airflow, small streams, no JVM.
The exit code is 1 if a page said anything in the browser's console, or asked another server for something.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from generators.delays import delay_model
from kit.console import warehouse as console_warehouse
from kit.console.bed import PAGES, Bed, running_bed
from kit.console.feed import Feed
from kit.console.pages import await_page, parts_of
from kit.parts import chromium

SCREENS = {"laptop": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
THEMES = "light", "dark"
MOST_PX = 4000
"""Greatest height of a picture: the rest of a longer page is more of the same."""

Act = Callable[[Page], object]


@dataclass(frozen=True)
class Shot:
    """A picture of a page.

    Attributes
    ----------
    address : str
        Below the console.
    act : callable
        What is done on the page before.
    is_whole : bool
        Whether it shows the whole page; else what the screen does.
    expected : str
        A part of what the browser's console may say about it.
    """

    name: str
    address: str
    act: Act = lambda page: None
    is_whole: bool = True
    expected: str | None = None


def shots(parts: dict[str, list[str]]) -> Iterator[Shot]:
    """Yield the pictures: Streams, each part of one query, what other kinds have of their own, and what went wrong."""
    yield Shot("streams", "")
    yield Shot("streams-attention", "?filter=attention")
    yield Shot("streams-none", "?search=nothing-has-this-name")
    for part in parts["speeds"]:
        if part != "answer":
            yield Shot(f"speeds-{part}", f"queries/speeds?part={part}")
    for query in (name for name in ("trades", "meetings", "levels") if "answer" in parts[name]):
        yield Shot(f"{query}-answer", f"queries/{query}?part=answers", open_changed_answer)
    for query in ("levels", "trades", "copies", "meetings", "districts"):
        for part in ("frontier", "answers", "promise", "late", "kind", "settings", "quarantine"):
            if part in parts[query]:
                yield Shot(f"{query}-{part}", f"queries/{query}?part={part}")
    for action in ("Deploy", "Correct", "Calibrate"):
        opened = partial(open_dialog, title=action)
        yield Shot(f"action-{action.lower()}", "queries/trades", opened, is_whole=False)
    yield Shot("empty", "queries/unborn")
    yield Shot("empty-answers", "queries/unborn?part=answers")
    yield Shot("damaged", "queries/damaged?part=answers", expected="status of 409")
    yield Shot("broken", "queries/broken")
    yield Shot("without-file", "queries/lost?part=settings")
    yield Shot("unknown", "queries/nobody", expected="status of 404")
    yield Shot("hostile", "queries/poisoned?part=answers")
    yield Shot("hostile-quarantine", "queries/poisoned?part=quarantine")


def open_changed_answer(page: Page) -> None:
    """Open the newest answer that a correction has changed, or else the newest."""
    changed = page.locator("tr.marked").get_by_role("link", name="Versions")
    (changed if changed.count() else page.get_by_role("link", name="Versions")).first.click()
    await_page(page)


def open_dialog(page: Page, title: str) -> None:
    """Open the form of an action, which on a phone stands behind a button."""
    others = page.get_by_role("button", name="Actions and links")
    if others.is_visible():
        others.click()
    page.get_by_role("button", name=f"{title} …", exact=True).click()
    page.get_by_role("dialog").wait_for()


def draw(bed: Bed, browser: Browser, directory: Path, only: str) -> list[str]:
    """Draw all pictures into a directory, and return what the pages said in the console."""
    said = []
    with bed.client("admin") as client:
        names = [row["name"] for row in client.get(f"{PAGES}api/streams?limit=200").json()["queries"]]
    parts = {name: parts_of(bed, name) for name in names}
    for theme in THEMES:
        for screen, size in SCREENS.items():
            options = {
                "viewport": size,
                "color_scheme": theme,
                "is_mobile": screen == "phone",
                "has_touch": screen == "phone",
            }
            window = chromium.open_window(browser, bed.url, **options)
            window.context.add_cookies(chromium.cookies(bed.url, bed.api().token))
            for shot in (shot for shot in shots(parts) if only in shot.name):
                file, before = directory / f"{shot.name}-{screen}-{theme}.png", len(window.faults)
                page = window.page(PAGES + shot.address)
                await_page(page)
                shot.act(page)
                page.evaluate("scrollTo(0, 0)")  # a head that stays in view would be drawn amid the page
                page.screenshot(path=file, full_page=shot.is_whole, clip=clip_of(page, size) if shot.is_whole else None)
                page.close()
                faults = (fault for fault in window.faults[before:] if not (shot.expected and shot.expected in fault))
                said += [f"{file.name}: {fault}" for fault in faults]
                print(file, flush=True)
            window.context.close()
    return said


def clip_of(page: Page, size: dict[str, int]) -> Any:
    """The part of a page that is drawn: all of it, up to a height."""
    height = page.evaluate("document.documentElement.scrollHeight")
    return {"x": 0, "y": 0, "width": size["width"], "height": min(max(height, size["height"]), MOST_PX)}


@contextmanager
def lively(bed: Bed) -> Iterator[None]:
    """Let some streams run: of one more comes, another one meets a file without a column that its query needs."""
    for name in ("speeds", "meetings", "broken"):
        bed.deploy(name)
    for name in ("speeds", "meetings", "broken"):
        bed.until(lambda name=name: bed.is_at_work(name))
    console_warehouse.spoil(bed.warehouse, "broken")
    bed.until(lambda: bed.status("broken").problem)
    with Feed(bed.warehouse.source("speeds", "readings"), bed.warehouse.now_ms, delay_model(console_warehouse.DELAYS)):
        yield


def main() -> int:
    """Start the bed, draw, and print what the pages said."""
    parser = argparse.ArgumentParser(description="Draw every page of the console.")
    parser.add_argument("--output", type=Path, default=Path("build/screenshots"), help="a directory for the pictures")
    parser.add_argument("--only", default="", help="only pictures whose name has this in it")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="screenshots-"))
    try:
        with running_bed(home) as bed, chromium.running_browser() as browser, lively(bed):
            said = draw(bed, browser, options.output, options.only)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print("\n".join(said), file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
