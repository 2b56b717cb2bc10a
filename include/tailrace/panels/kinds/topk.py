"""The panel `kind` of a top-k query: its newest rankings, as corrected and as streamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from tailrace.answers.versions import streamed_versions
from tailrace.ground.arrow.matching import select
from tailrace.ground.duration import ms
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.panels.cells import plain, text_of
from tailrace.panels.kinds.calibration import newest_calibration
from tailrace.panels.kinds.request import KindAnswer, KindRequest
from tailrace.panels.panel import Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.query.windowed import TopKQuery
from tailrace.storage.answer_range import AnswerRange
from tailrace.storage.progress import read_progress
from tailrace.storage.tables import Tables

MOST_ROWS = 100
"""The largest number of shown rows of a ranking, the best ones."""

_STEPS = tuple(64**power for power in range(4))
"""The number of slides behind the frontier in which the newest rankings are looked for first."""

_WINDOW = ("key", "window_start", "window_end")

Row = Mapping[str, Any]


class RankedTuple(Shown):
    """A tuple of a ranking.

    Attributes
    ----------
    rank, was_rank : int or None
        As corrected, and as streamed; null if it was absent.
    score : JSON value
        As `plain` writes it.
    values : dict
        Its further columns, named as in `topk.select`.
    """

    rank: int | None
    was_rank: int | None
    id: str | None
    score: Any
    values: dict[str, Any]


class RankingVersion(Shown):
    """The newest version of the ranking of a key and window.

    Attributes
    ----------
    rows : list of Ranked
        In order of rank, the best `MOST_ROWS`; empty if a correction retracted the ranking.
    gone : list of Ranked
        The tuples that were among the best as streamed, but not in the newest version.
    is_streamed, is_corrected : bool
        Whether the stream, and whether a correction, wrote the ranking.
    """

    key: str | None
    window_start: int
    window_end: int
    rows: list[RankedTuple]
    gone: list[RankedTuple]
    is_streamed: bool
    is_corrected: bool


class TopKAnswer(KindAnswer):
    """The newest rankings, the newest window first, then by key."""

    kind: Literal["topk"] = "topk"
    k: int
    score: str
    order: Literal["descending", "ascending"]
    selected: list[str]
    rankings: list[RankingVersion]


def read(view: QueryView, request: KindRequest) -> TopKAnswer:
    """Read the newest rankings of all keys, or of the requested one."""
    query = view.query
    assert isinstance(query, TopKQuery)
    part, names = AnswerRange(key=request.key).for_query(query), list(query.topk.select)
    pieces = Pieces()
    since = _newest_since(view, part, ms(query.window.slide), request.limit)
    rankings = [] if since is None else _rankings(view, AnswerRange(start=since, key=part.key), names, request.limit)
    return TopKAnswer(
        k=query.topk.k,
        score=query.topk.score,
        order=query.topk.order,
        selected=names,
        rankings=rankings,
        calibration=newest_calibration(view, pieces),
        note=None if rankings else _why_empty(view.tables, part),
        damaged=pieces.damaged,
    )


def _newest_since(view: QueryView, part: AnswerRange, slide_ms: int, limit: int) -> int | None:
    """Return the time after which the newest rankings end; None without any."""
    progress = read_progress(view.tables)
    if progress is None or not view.tables.has("results"):
        return None
    model, schema, is_first = view.kind.answers, view.tables.schema("results"), ds.field("rank") == 1
    for low in [*(progress.frontier - slide_ms * slides for slides in _STEPS), BEFORE_ALL]:
        condition = AnswerRange(start=low, key=part.key).condition(model, schema)
        where = is_first if condition is None else is_first & condition
        ends = view.tables.read("results", ["window_end"], where)["window_end"].sort()
        if len(ends) >= limit:
            return int(ends[-limit].as_py()) - 1
    return BEFORE_ALL


def _rankings(view: QueryView, part: AnswerRange, names: list[str], limit: int) -> list[RankingVersion]:
    """Return the newest rankings that end after the start of a part, the newest window first."""
    identity, versions = view.kind.answers.identity, view.answers.versions(part)
    latest = identity.latest(versions)
    windows = identity.first_rows(latest).sort_by([("window_end", "descending"), ("key", "ascending")])[:limit]
    streamed, latest = (
        select(rows, identity.find(rows, windows) >= 0) for rows in (streamed_versions(versions), latest)
    )
    before, after = (_by_window(_best(rows, others)) for rows, others in ((streamed, latest), (latest, streamed)))
    shown = [tuple(row.values()) for row in windows.select(_WINDOW).to_pylist()]
    return [_ranking(window, after[window], before.get(window, []), names) for window in shown]


def _best(rows: pa.Table, others: pa.Table) -> pa.Table:
    """Select the best rows of rankings, and further tuples that are among the best in the other rankings."""
    best = others["id"].filter(pc.less_equal(others["rank"], MOST_ROWS)).unique()
    return rows.filter(pc.or_(pc.less_equal(rows["rank"], MOST_ROWS), pc.is_in(rows["id"], best)))


def _ranking(window: tuple[Any, ...], after: list[Row], before: list[Row], names: list[str]) -> RankingVersion:
    """Return the ranking of a window, given its rows as corrected and as streamed, in order of rank."""
    key, start, end = window
    kept = [row for row in after if not row["retracted"]]
    ids, was = {row["id"] for row in kept}, {row["id"]: row["rank"] for row in before}
    rows = [_ranked(row, row["rank"], was.get(row["id"]), names) for row in kept if row["rank"] <= MOST_ROWS]
    gone = [
        _ranked(row, None, row["rank"], names) for row in before if row["id"] not in ids and row["rank"] <= MOST_ROWS
    ]
    return RankingVersion(
        key=text_of(key),
        window_start=start,
        window_end=end,
        rows=rows,
        gone=gone,
        is_streamed=bool(before),
        is_corrected=after[0]["corrected"],
    )


def _ranked(row: Row, rank: int | None, was_rank: int | None, names: list[str]) -> RankedTuple:
    values = {name: plain(row[name]) for name in names}
    return RankedTuple(rank=rank, was_rank=was_rank, id=text_of(row["id"]), score=plain(row["score"]), values=values)


def _by_window(rows: pa.Table) -> dict[tuple[Any, ...], list[Row]]:
    """Return rows by their key and window, in order of rank."""
    rankings: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows.sort_by("rank").to_pylist():
        rankings.setdefault(tuple(row[name] for name in _WINDOW), []).append(row)
    return rankings


def _why_empty(tables: Tables, part: AnswerRange) -> str:
    if part.key is not None and tables.has("results"):
        return f"no ranking of the key {part.key} is there"
    return "the stream has ranked nothing yet"
