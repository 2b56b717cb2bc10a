"""The end of a demonstration that continues: the things to see, and where."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from demo.changed_answer import changed_answer
from demo.demonstrated_query import DemoQuery
from demo.living_stream import HOURS
from tailrace.correction.promise_state import PromiseState
from tailrace.embedded.embedded_airflow import USER
from tailrace.ground.words import counted
from tailrace.orchestration.addresses import PAGES
from tailrace.panels.query_view import QueryView
from tailrace.storage.tables import Tables
from tailrace.terminal.screen import out, plain


def look_around(flights: DemoQuery, living: Sequence[DemoQuery], others: Sequence[DemoQuery] = ()) -> None:
    """Print the things to see and where, and wait for Ctrl-C; `living` are the queries of `LIVING`."""
    payments, largest = living
    airflow, home = flights.airflow, flights.home
    pages = f"{airflow.url}{PAGES}"
    changed = changed_answer(QueryView(flights.layout, home / "queries" / f"{flights.name}.yaml"))
    answer = ""
    if changed is not None:
        page = f"{pages}/queries/{flights.name}?part=answer&id={changed.id}"
        answer = f"  {page}\n    {plain(changed.text)}\n"
    topics = "".join(
        f"  topic [bold]{topic.topic}[/] of the broker at {topic.servers}\n"
        f"    has the answers of {other.name}; docs/kafka-demo.md has a consumer for it\n"
        for other in others
        if (topic := other.query.answers.kafka) is not None
    )
    out.print(
        f"""
Look here, as user [bold]{USER}[/] with password [bold]{airflow.password}[/]
  [bold]{pages}/[/]
    all streams; payments go on while you look, for {counted(HOURS, "hour")} at most
  {pages}/queries/{payments.name}?part=promise
    what is promised and what was measured; what comes late is corrected every five minutes
  {pages}/queries/{largest.name}?part=promise
    {plain(promise_now(largest))}
  {pages}/queries/{payments.name}?part=quarantine
    the payments that were rejected, and the line of the query file that would take them
{answer}{topics}In Airflow: mark the run of a DAG stream_… as a success, and its stream drains
In another shell:
  . {home}/env.sh
  tailrace status
  tailrace results $TAILRACE_QUERIES/{flights.name}.yaml --warehouse $TAILRACE_WAREHOUSE
[bold]Ctrl-C[/] ends all of it.""",
        soft_wrap=True,
    )
    while True:
        time.sleep(3600)


def promise_now(largest: DemoQuery) -> str:
    """Return whether the promise is kept, as far as corrections have measured it by now, and how to mend it."""
    promise = PromiseState.read(Tables(largest.layout))
    is_known = promise.state != "unknown"
    said = f"this promise is {promise.state}: {promise.detail}" if is_known else f"of this promise {promise.detail}"
    lines = [f"at {datetime.now(UTC):%H:%M} UTC {said}"]
    if promise.state != "kept":
        lines.append("as declared, no window waits for late payments: press Calibrate …, then Accept K = …")
        lines.append("the stream takes that K up, and after one or two corrections the promise is kept")
    return "\n    ".join(lines)
