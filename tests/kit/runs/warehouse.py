"""Streams of the oracle's tuples as files, queries over them, and what their tables hold."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kit.oracles.oracle import Passed, Settings, Tuple
from tailrace.answers.by_window import ByWindow
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.proposals import Proposal, Proposals
from tailrace.storage.results import AnswerTables, read_answers
from tailrace.storage.tables import Tables
from tailrace.windows.sliding import Sliding

TIME = pa.timestamp("ms", "UTC")
EPOCH = 1_577_836_800_000


def make_stream(n: int, seed: int, duplicates: int = 0, keys: int = 5) -> list[Tuple]:
    """n tuples, 20 ms apart at the mean, delayed by 300 ms at the mean and now and then by some seconds."""
    draw = random.Random(seed)
    event, tuples = EPOCH, []
    for i in range(n):
        event += draw.choice((0, 5, 20, 20, 55))
        delay = int(draw.expovariate(1 / 300)) + (draw.randrange(6000) if draw.random() < 0.03 else 0)
        value = round(draw.uniform(-50, 100), 3)
        tuples.append(Tuple(event, event + delay, f"t{i}", f"k{draw.randrange(keys)}", value))
    tuples.sort(key=lambda item: item.arrival_time)
    for _ in range(duplicates):  # the id of one that came before, with other contents
        first, again = sorted(draw.sample(range(n), 2))
        tuples[again] = tuples[again]._replace(id=tuples[first].id)
    return tuples


def write_files(
    tuples: list[Tuple], directory: Path, bounds: list[int], first: int = 0, values: pa.DataType | None = None
) -> None:
    """The tuples between each two neighbouring bounds as a Parquet file, named in order from `first` on.

    `values` is the type of their values: doubles if it is not given.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for number, (start, end) in enumerate(itertools.pairwise(bounds), first):
        part = tuples[start:end]
        table = pa.table(
            {
                "event_time": pa.array([t.event_time for t in part], TIME),
                "arrival_time": pa.array([t.arrival_time for t in part], TIME),
                "id": pa.array([t.id for t in part], pa.string()),
                "key": pa.array([t.key for t in part], pa.string()),
                "value": pa.array([t.value for t in part], values or pa.float64()),
            }
        )
        unfinished = directory / f"_part-{number:05d}.parquet"  # no stream reads it
        pq.write_table(table, unfinished)
        unfinished.rename(directory / f"part-{number:05d}.parquet")


def even(n: int, parts: int) -> list[int]:
    """Bounds that cut n things in so many parts."""
    return [n * i // parts for i in range(parts + 1)]


def window_of(settings: Settings) -> dict[str, str]:
    """The windows of the oracle's settings as a file declares them."""
    if settings.days_of is not None:
        return {"size": "1 d", "timezone": settings.days_of}
    return {"size": f"{settings.size} ms", "slide": f"{settings.slide} ms", "offset": f"{settings.offset} ms"}


def make_query(path: Path, settings: Settings, *more: object, **others: object) -> Query:
    """The oracle's settings as a query over files, see `query_fields`."""
    return declared_query(query_fields(path, settings, *more, **others))


def query_fields(
    path: Path,
    settings: Settings,
    parallelism: int = 2,
    source: str = "parquet",
    idle: str = "1 min",
    calibrated: bool | str = False,
    topk: dict | None = None,
    **stream: object,
) -> dict[str, object]:
    """The fields of a query file with the oracle's settings; `calibrated`: its k_slack is the policy
    cache_duration, with a method if it is a text.

    `topk`: that in the place of the oracle's function.
    """
    column = None if settings.function == "count" else "value"
    aggregate = {"function": settings.function, "column": column, "q": settings.q}
    kind = {"kind": "aggregate", "aggregate": aggregate} if topk is None else {"kind": "topk", "topk": topk}
    name, *k = settings.policy if isinstance(settings.policy, tuple) else (settings.policy,)
    disorder = {"tick": f"{settings.tick} ms", "idle": idle, "policy": "cache_duration" if calibrated else name}
    disorder |= {"method": calibrated} if isinstance(calibrated, str) else {}
    disorder |= {"initial" if calibrated else "k": f"{k[0]} ms"} if k else {}
    rate = {"rate": 100} if source == "replay" else {}
    columns = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id", "key": "key"} | stream
    return {
        "name": "readings",
        "streams": {"readings": {"source": {"format": source, "path": str(path)} | rate} | columns},
        "window": window_of(settings),
        "disorder": disorder,
        "parallelism": parallelism,
    } | kind


def propose(query: Query, warehouse: Path, k_ms: int) -> None:
    """What a calibration would put down that found this K."""
    declared = query.policy
    assert isinstance(declared, CacheDuration)
    settings = declared.waiting(k_ms).model_dump_json()
    found = Proposal(0, declared.model_dump_json(), settings, k_ms, 0, k_ms, (), 1, None, 0, f"found {k_ms}")
    Proposals(Layout.for_query(warehouse, query.name)).add(found)


def silences_of(warehouse: Path) -> list[Passed]:
    """What a live stream put down of its source's silence, as the oracle takes it."""
    journal, found, batch = Journal(Layout.for_query(warehouse, "readings").journal), [], 0
    while batch in journal:
        head, standing = journal[batch].header, journal[batch].position
        if head.heartbeats or (head.closes and not head.ends):
            found.append(Passed(standing.rows, head.heartbeats.get("readings", 0), head.closes))
        batch += 1
    return found


def tables_of(warehouse: Path | str) -> Tables:
    return Tables(Layout.for_query(warehouse, "readings"))


def read_windows(warehouse: Path | str, settings: Settings) -> dict[tuple, tuple]:
    """The latest version of each window: value, tuples, as_of. No window twice."""
    found = AnswerTables(tables_of(warehouse), ByWindow(Sliding(settings.size, settings.slide))).latest().to_pylist()
    rows = {(r["key"], r["window_start"], r["window_end"]): (r["value"], r["tuples"], r["as_of"]) for r in found}
    assert len(rows) == len(found)
    return rows


def read_paid(query: Query, warehouse: Path) -> list[tuple[str, int, float]]:
    """The key, start and answer `paid` of each window, after corrections."""
    rows = read_answers(query, warehouse, streamed=False)[0].to_pylist()
    return sorted((row["key"], row["window_start"], row["paid"]) for row in rows)


def rows_of(warehouse: Path | str, *names: str) -> dict[str, list[dict]]:
    """All rows of some tables, times in ms."""
    return {
        name: tables_of(warehouse).read(name).to_pylist()
        for name in names or ("results", "late", "metrics", "segments")
    }
