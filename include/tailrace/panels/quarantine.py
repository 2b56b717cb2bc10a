"""The panel of rejected records: by reason, the newest ones, and the line of the query file that would accept them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from tailrace.ground.arrow.columns import Ints
from tailrace.ground.words import counted
from tailrace.panels.cells import texts_of
from tailrace.panels.panel import Panel, PanelAnswer, PanelRequest, Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.panels.reject_advice import QueryLine, RejectAdvice
from tailrace.panels.rejected_records import IsAsked, RejectedFiles, RejectsByReason, groups_of
from tailrace.sources.record_place import places_of
from tailrace.storage.progress import committed_until
from tailrace.storage.rejections import OTHERS
from tailrace.storage.status import wall_ms

LOOKED_AT = 1_000_000  # the newest records, which are counted by reason
_HOUR_MS, _LONGEST_SERIES_MS, _POINTS = 3_600_000, 30 * 86_400_000, 120


class QuarantineRequest(PanelRequest):
    """The records to show: of one reason or of all, the newest ones after the first `skip`."""

    reason: str | None = None
    limit: int = Field(default=20, ge=1, le=200)
    skip: int = Field(default=0, ge=0, le=1 << 53)


class RejectSeries(Shown):
    """The number of records that arrived from each time (ms) to the next."""

    at: list[int]
    records: list[int]


class Reason(Shown):
    """A reason, without the parts that differ by record.

    Attributes
    ----------
    last : int or None
        The newest arrival time of such a record; None if none could be read.
    line : QueryLine or None
        None if no line of the query file would help.
    """

    reason: str
    records: int
    last: int | None
    line: QueryLine | None


class RejectedRecord(Shown):
    """A record in its original form, cut after 2,000 characters, and the complete reason."""

    stream: str
    position: str
    arrival_time: int | None
    reason: str
    record: str | None


class QuarantineShown(PanelAnswer):
    """Rejected records.

    Attributes
    ----------
    total : int
        The number of all time.
    last_hour : int
        The number that arrived in the last hour before the newest one, or before the committed arrival time if that is
        later; arrivals ahead of the wall clock are ignored.
    without_arrival : int
        How many of the records counted by reason have no readable arrival time.
    records : list
        The newest first.
    next : int or None
        The `skip` of the records after these; None if there are none.
    """

    total: int = 0
    last_hour: int | None = 0
    without_arrival: int = 0
    series: RejectSeries = RejectSeries(at=[], records=[])
    reasons: list[Reason] = Field(default=[])
    records: list[RejectedRecord] = Field(default=[])
    next: int | None = None


def read(view: QueryView, request: QuarantineRequest) -> QuarantineShown:
    """Count the rejected records by reason, and read the newest of them."""
    if not view.tables.has("quarantine"):
        return QuarantineShown(note="No record was rejected: the stream has not begun.")
    files = RejectedFiles.read(view.tables)
    if not files.total:
        return QuarantineShown(note="No record was rejected.")
    rejects = RejectsByReason()
    for rows in files.newest(["stream", "reason", "arrival_time"], LOOKED_AT):
        rejects.add(rows)
    arrival = rejects.arrival
    # If every record is rejected, nothing is committed any more.
    pieces = Pieces()
    committed = pieces.read("last_hour series", lambda: committed_until(view.tables), None)
    now = max(committed or 0, int(arrival[arrival <= wall_ms()].max(initial=0)))
    advice = RejectAdvice.from_view(view)
    records = list(_records(files, rejects, request))
    return QuarantineShown(
        total=files.total,
        without_arrival=rejects.records - len(arrival),
        last_hour=None if pieces.damaged else int(np.count_nonzero((arrival >= now - _HOUR_MS) & (arrival <= now))),
        series=_series(arrival, now),
        reasons=[
            Reason(
                reason=reason,
                records=each.records,
                last=each.last,
                line=None if advice is None else advice.line(each.stream, reason),
            )
            for reason, each in rejects.most_frequent()
        ],
        records=records[: request.limit],
        next=request.skip + request.limit if len(records) > request.limit else None,
        note=_note(rejects, files.total),
        damaged=pieces.damaged,
    )


def _note(rejects: RejectsByReason, total: int) -> str | None:
    notes = []
    if without := rejects.records - len(rejects.arrival):
        notes.append(f"{counted(without, 'record')} without a readable arrival time: no hour and no chart counts them.")
    if rejects.records < total:
        notes.append(f"By reason, the newest {rejects.records:,} of {total:,} records are counted.")
    return " ".join(notes) or None


def _series(arrival: Ints, now: int) -> RejectSeries:
    """Count records by arrival over at most the last 30 days; records ahead of the clock are not drawn."""
    arrival = arrival[(arrival > now - _LONGEST_SERIES_MS) & (arrival <= now + _HOUR_MS)]
    if not len(arrival):
        return RejectSeries(at=[], records=[])
    first = int(arrival.min())
    width = max(-(-(int(arrival.max()) + 1 - first) // _POINTS), 1000)
    first = first // width * width
    records = np.bincount((arrival - first) // width)
    return RejectSeries(at=(first + np.arange(len(records)) * width).tolist(), records=records.tolist())


def _records(files: RejectedFiles, rejects: RejectsByReason, request: QuarantineRequest) -> Iterator[RejectedRecord]:
    """Yield the requested records, and one more if it exists."""
    skip, left, is_asked = request.skip, request.limit + 1, _is_asked(rejects, request.reason)
    columns = ["stream", "position", "arrival_time", "reason", "record"]
    for file in files.files:
        if not left:
            return
        stop = file.count(is_asked) - skip
        skip = max(-stop, 0)
        if stop <= 0:
            continue
        rows = file.between(columns, max(stop - left, 0), stop, is_asked)
        left -= rows.num_rows
        texts = {name: texts_of(rows[name]) for name in columns if name != "arrival_time"}
        positions = places_of([position or "" for position in texts.pop("position")])
        for values in zip(rows["arrival_time"].to_pylist(), positions, *texts.values(), strict=True):
            arrival_time, position, stream, reason, record = values
            yield RejectedRecord(
                stream=stream or "",
                position=position,
                arrival_time=arrival_time,
                reason=reason or "",
                record=record,
            )


def _is_asked(rejects: RejectsByReason, asked: str | None) -> IsAsked | None:
    """Return the test for reasons in the requested group; None where all are."""
    if asked is None:
        return None
    if asked == OTHERS:
        named = pa.array(rejects.named, pa.string())
        return lambda reasons: pc.invert(pc.is_in(groups_of(reasons), named))
    return lambda reasons: pc.equal(groups_of(reasons), asked)


PANEL = Panel(
    "quarantine",
    QuarantineRequest,
    read,
    ("quarantine", "metrics"),
    files=("_stream/deployed.json",),
    shows_records=True,
)
