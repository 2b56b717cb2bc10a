"""A query's tables as Airflow assets, so that Airflow's pages show their lineage."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from airflow.sdk import Asset, AssetWatcher
from pydantic import JsonValue

from tailrace.ground.errors import Refused
from tailrace.orchestration import settings
from tailrace.orchestration.commit_trigger import INTERVAL_S, PUBLISHED, CommitTrigger
from tailrace.orchestration.gap_trigger import GapTrigger
from tailrace.orchestration.links import page_url
from tailrace.query.answers_section import CURRENT
from tailrace.query.query import Query
from tailrace.sources.answers_source import AnswersSource

STREAM_WRITES = ("late", "quarantine", "metrics")  # without `results`, whose events publish_<query> sends
CORRECTION_READS, CORRECTION_WRITES = ("late",), ("quality",)  # without `corrections`, likewise
CALIBRATION_READS, CALIBRATION_WRITES = ("metrics",), ("proposals",)

_TABLES = {*PUBLISHED, CURRENT, *STREAM_WRITES, *CORRECTION_WRITES, *CALIBRATION_WRITES}
"""The tables that have an asset."""

_PARTS = {
    "late": "late",
    "uncorrected": "late",
    "quarantine": "quarantine",
    "metrics": "frontier",
    "corrections": "ledger",
    "quality": "promise",
    "proposals": "ledger",
}
"""The parts of a query's page that show its assets; other assets are in `answers`."""


def tables(query: Query, names: tuple[str, ...]) -> list[Asset]:
    """Return assets of a query's tables, identified by the query's name, independent of the warehouse's location."""
    return [_asset(query.name, name) for name in names]


def sources(query: Query) -> list[Asset]:
    """Return assets of the paths, topics and answers that the query's streams read, and of the tables that it joins."""
    read = [stream.source for stream in query.streams.values()]
    upstream = [
        _asset(source.query, name) for source in read if isinstance(source, AnswersSource) for name in PUBLISHED
    ]
    uris = [source.uri() for source in read if not isinstance(source, AnswersSource)]
    uris += [table.place.uri for table in query.tables.values()]
    return [*upstream, *map(_read, uris)]


def _read(uri: str) -> Asset:
    """Return the asset of a location that a query reads; within the warehouse, the asset of another query's table."""
    with suppress(Refused):  # perhaps only the tasks know the warehouse
        warehouse = settings.warehouse()
        root = warehouse.as_uri() if isinstance(warehouse, Path) else warehouse.rstrip("/")
        match uri.removeprefix(f"{root}/").split("/"):
            case [query, table] if query and table in _TABLES:
                return _asset(query, table)
    return Asset(uri)


def uncorrected(query: Query, gap_ms: int) -> Asset:
    """Return the asset of the query's uncorrected late tuples.

    Its watcher sends an event when they span more than Γ.
    """
    watcher = AssetWatcher(name=f"{query.name}.gap", trigger=GapTrigger.from_query(query, gap_ms))
    return _asset(query.name, "uncorrected", [watcher])


def published(query: Query) -> list[Asset]:
    """Return assets of the tables of answers, which have events while the stream runs."""
    return tables(query, PUBLISHED if query.has_late_tuples else PUBLISHED[:1])


def places(query: Query) -> dict[str, Asset]:
    """Return assets of the delivery targets of a query, by name, which have events while the stream runs.

    A topic or PostgreSQL table has the same asset for queries that write it and that read it.
    """
    return {CURRENT: _asset(query.name, CURRENT)} | {name: Asset(uri) for name, uri in query.answers.uris.items()}


def commits(query: Query, interval_s: float = INTERVAL_S) -> Asset:
    """Return the asset of the query's commits; its watcher sends an event on new answers, at most once an interval."""
    watcher = AssetWatcher(name=f"{query.name}.answers", trigger=CommitTrigger(query.name, interval_s))
    return _asset(query.name, "commits", [watcher])


def _asset(query: str, name: str, watchers: Sequence[AssetWatcher] = ()) -> Asset:
    """Return an asset of a query; its `extra`, which Airflow shows, links to the query's page."""
    extra: dict[str, JsonValue] = {"page": page_url(query, _PARTS.get(name, "answers"))}
    uri = f"tailrace://{query}/{name}"
    return Asset(name=f"{query}.{name}", uri=uri, group="tailrace", watchers=list(watchers), extra=extra)
