"""The query of the end-to-end tests: the sample of flights under other names."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]


def live_query(directory: Path) -> Path:
    """Declare the query `live`: the flights, replayed so slowly that the stream lives through a test."""
    text = (ROOT / "include" / "queries" / "flights.yaml").read_text()
    text = text.replace("../../samples/flights", str(ROOT / "samples" / "flights"))
    text = text.replace("rate: 1500", "rate: 100").replace("name: flights", "name: live")
    assert "rate: 100" in text
    assert "name: live" in text
    file = directory / "live.yaml"
    file.write_text(text)
    return file
