"""The query of the end-to-end tests: the sample of flights under other names."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]


def live_query(directory: Path) -> Path:
    """Declare the query `live`: the flights, replayed so slowly that the stream lives through a test.

    Its windows wait a minute for flights that come hours late, so its promise is broken as soon as that is measured;
    the connection `ops_webhook` is told.
    """
    text = (ROOT / "include" / "queries" / "flights.yaml").read_text()
    text = text.replace("../../samples/flights", str(ROOT / "samples" / "flights"))
    text = text.replace("rate: 1500", "rate: 100").replace("name: flights", "name: live")
    text = text.replace("policy: k_slack, k: 1 h,", "policy: cache_duration, initial: 1 min, accuracy: 0.999,")
    text += "alerts: {promise_broken: {notify: ops_webhook}}\n"
    for part in ("rate: 100", "name: live", "accuracy: 0.999"):
        assert part in text
    file = directory / "live.yaml"
    file.write_text(text)
    return file
