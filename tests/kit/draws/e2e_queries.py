"""Queries of the end-to-end tests: the sample of flights under another name, and sums with a gap Γ."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[3]
PUBLISHED_EVERY_S = 20
"""The interval of publications in these tests; by default it is a minute."""

PUBLICATIONS = f"""# Airflow takes no file that names neither it nor a DAG
from tailrace.orchestration.publish_dags import publish_dags

globals().update(publish_dags({PUBLISHED_EVERY_S}))
"""


SUMS = """\
name: sums
kind: aggregate
streams:
  readings:
    source: {{format: parquet, path: {path}}}
    event_time: event_time
    arrival_time: arrival_time
    id: id
    key: sensor
window: {{size: 500 ms, slide: 100 ms}}
disorder: {{policy: k_slack, k: 100 ms}}
aggregate: {{function: sum, column: value}}
correction: {{gap: 5 s}}
"""


def sums_query(directory: Path, source: Path) -> Path:
    """Declare the query `sums` over a source that need not be there yet."""
    file = directory / "sums.yaml"
    file.write_text(SUMS.format(path=source))
    return file


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
