"""`explain` says by which windows a query answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.panels.explanation import explanation
from tailrace.query.loading import load
from unit.query.test_loading import GOOD, write


@pytest.mark.parametrize(
    ("window", "method"),
    [
        ("{size: 1 h, slide: 15 min}", "avg of panes of 15 min, 4 to a window"),
        ("{size: 1 h, offset: -5 min}", "avg of panes of 1 h, 1 to a window, moved by -5 min"),
        ("{size: 1 d, timezone: Europe/Berlin}", "avg of the days of Europe/Berlin"),
        ("{size: 1 month, timezone: UTC, offset: 6 h}", "avg of the months of UTC, moved by 6 h"),
    ],
)
def test_the_method_names_the_windows(tmp_path: Path, window: str, method: str) -> None:
    query = load(write(tmp_path, GOOD.replace("{size: 1 h, slide: 15 min}", window)))
    assert explanation(query)["method"] == method
