"""A query's tables as Airflow assets, so that Airflow's pages show their lineage."""

from __future__ import annotations

from airflow.sdk import Asset, AssetWatcher

from tailrace.orchestration.commit_trigger import INTERVAL_S, PUBLISHED, CommitTrigger
from tailrace.orchestration.gap_trigger import GapTrigger
from tailrace.query.query import Query

STREAM_WRITES = ("late", "quarantine", "metrics")  # without `results`: publish_<query> has its events
CORRECTION_READS, CORRECTION_WRITES = ("late",), ("quality",)  # without `corrections`, likewise
CALIBRATION_READS, CALIBRATION_WRITES = ("metrics",), ("proposals",)


def tables(query: Query, names: tuple[str, ...]) -> list[Asset]:
    """Assets of a query's tables, identified by the query's name wherever the warehouse is."""
    return [
        Asset(name=f"{query.name}.{name}", uri=f"tailrace://{query.name}/{name}", group="tailrace") for name in names
    ]


def sources(query: Query) -> list[Asset]:
    """Assets of the paths and topics that the query's streams read, and its dimension table."""
    uris = [stream.uri for stream in query.streams.values()]
    uris += [query.table.path.absolute().as_uri()] if query.table else []
    return [Asset(uri) for uri in uris]


def uncorrected(query: Query, gap_ms: int) -> Asset:
    """Asset of the query's uncorrected late tuples; its watcher has an event when they span more than Γ."""
    watcher = AssetWatcher(name=f"{query.name}.gap", trigger=GapTrigger.of(query, gap_ms))
    uri = f"tailrace://{query.name}/uncorrected"
    return Asset(name=f"{query.name}.uncorrected", uri=uri, group="tailrace", watchers=[watcher])


def published(query: Query) -> list[Asset]:
    """Assets of the tables of answers, whose events come while the stream lives."""
    return tables(query, PUBLISHED if query.has_late_tuples else PUBLISHED[:1])


def commits(query: Query, interval_s: float = INTERVAL_S) -> Asset:
    """Asset of the query's commits; its watcher has an event when there are new answers, at most once an interval."""
    watcher = AssetWatcher(name=f"{query.name}.answers", trigger=CommitTrigger(query.name, interval_s))
    uri = f"tailrace://{query.name}/commits"
    return Asset(name=f"{query.name}.commits", uri=uri, group="tailrace", watchers=[watcher])
