"""Debian's Chromium, driven by Playwright: pages whose every message, error and request beyond the server is noted.

Playwright's own browsers are not downloaded.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from playwright.sync_api import Browser, BrowserContext, Page, Request, expect, sync_playwright

from kit.parts import debian
from kit.suite.waiting import PATIENCE_S

WAIT_MS = 1000 * PATIENCE_S
"""Longest wait for what a page must show: on a busy machine a page takes many times as long."""

expect.set_options(timeout=WAIT_MS)

_VIOLATIONS = """addEventListener('securitypolicyviolation', violation => console.error(
    `content policy: ${violation.effectiveDirective} ${violation.blockedURI} ${violation.sourceFile}`))"""
_NOTED = ("warning", "error", "assert")
_INLINE = ("data:", "blob:", "about:")


def program() -> Path:
    """Return the browser's program, installing it where that is allowed."""
    return debian.bring("Chromium", "chromium fonts-dejavu-core", installed)


def installed() -> Path | None:
    """Return the browser's program if it is there."""
    found = shutil.which("chromium", path=f"/usr/bin{os.pathsep}{os.environ.get('PATH', '')}")
    return Path(found) if found else None


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Run a browser without a window; its processes are gone afterwards."""
    executable = program()
    with sync_playwright() as playwright:
        # Chromium refuses its own sandbox to root; a container's /dev/shm is too small for large pages.
        sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
        browser = playwright.chromium.launch(
            executable_path=executable, args=[*sandbox, "--disable-dev-shm-usage", "--force-color-profile=srgb"]
        )
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watched:
    """A browser's window on one server, with its own cookies, and what went wrong in it.

    Attributes
    ----------
    faults : list of str
        Messages of the console from warnings on, errors that no script caught, violations of the content policy,
        dialogs, further windows, and requests beyond the server, in order.
    expected : list of str
        Parts of faults that a test provokes; each is left out once.
    """

    context: BrowserContext
    url: str
    faults: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context.set_default_timeout(WAIT_MS)
        self.context.add_init_script(_VIOLATIONS)
        self.context.on("request", self._see_request)
        self.context.on("console", lambda message: self._see(message.type, message.text, message.location))
        self.context.on("weberror", lambda error: self.faults.append(f"uncaught: {error.error}"))
        self.context.on("dialog", self._see_dialog)

    def page(self, path: str = "") -> Page:
        """Open a page of the server, or an empty one."""
        page = self.context.new_page()
        if path:
            page.goto(self.url + path)
        return page

    def unexpected(self) -> list[str]:
        """Return the faults that no test has provoked."""
        left = list(self.faults)
        for part in self.expected:
            if provoked := next((fault for fault in left if part in fault), None):
                left.remove(provoked)
        return left

    def _see(self, kind: str, text: str, location: Any) -> None:
        if kind in _NOTED:
            self.faults.append(f"{kind}: {text} ({location.get('url')}:{location.get('lineNumber')})")

    def _see_request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.url}/", *_INLINE)):
            self.faults.append(f"request beyond the server: {request.method} {request.url}")

    def _see_dialog(self, dialog: Any) -> None:
        self.faults.append(f"dialog: {dialog.type} {dialog.message[:200]}")
        dialog.dismiss()


def open_window(browser: Browser, url: str, **options: Any) -> Watched:
    """Open a window on a server; `options` are Playwright's of a context."""
    return Watched(
        browser.new_context(base_url=url, **{"locale": "en-GB", "timezone_id": "Europe/Berlin"} | options), url
    )


def cookies(url: str, token: str) -> list[Any]:
    """The cookie by which Airflow's pages know a user."""
    return cast(list[Any], [{"name": "_token", "value": token, "url": url, "httpOnly": True, "sameSite": "Lax"}])
