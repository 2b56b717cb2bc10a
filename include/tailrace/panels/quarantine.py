"""The panel of rejected records: by reason, the newest of them, and the line of the query file that would take them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from tailrace.ground.columns import Ints
from tailrace.ground.words import counted
from tailrace.panels.cells import texts_of
from tailrace.panels.panel import Panel, PanelAnswer, PanelRequest, Shown
from tailrace.panels.query_view import QueryView
from tailrace.panels.reject_advice import QueryLine, RejectAdvice
from tailrace.panels.rejected_records import OTHERS, RejectedFiles, RejectsByReason, groups_of
from tailrace.storage.progress import committed_until
from tailrace.storage.status import wall_ms

_LOOKED_AT = 1_000_000  # of the newest records, which are counted by reason
_HOUR_MS, _LONGEST_SERIES_MS, _POINTS = 3_600_000, 30 * 86_400_000, 120


class QuarantineRequest(PanelRequest):
    """The records to be shown: of a reason, or the newest of all."""

    reason: str | None = None
    limit: int = Field(default=20, ge=1, le=200)


class RejectSeries(Shown):
    """The number of records that arrived from each time (ms) on, to the next."""

    at: list[int]
    records: list[int]


class Reason(Shown):
    """A reason, without what each record has of its own.

    Attributes
    ----------
    last : int or None
        The newest arrival time of such a record; None where no such time could be read.
    line : QueryLine or None
        None where no line of the query file would help.
    """

    reason: str
    records: int
    last: int | None
    line: QueryLine | None


class RejectedRecord(Shown):
    """A record as it came, cut after 2,000 characters, and the whole reason against it."""

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
        Of all time.
    last_hour : int
        Of those that arrived in the last hour before the newest of them, or before what the stream has committed, if
        that is later; arrivals ahead of the wall clock are no newest ones.
    without_arrival : int
        Of those that were counted by reason; their arrival time could not be read, so that they are in no hour.
    records : list
        The newest first.
    """

    total: int = 0
    last_hour: int = 0
    without_arrival: int = 0
    series: RejectSeries = RejectSeries(at=[], records=[])
    reasons: list[Reason] = Field(default=[])
    records: list[RejectedRecord] = Field(default=[])


def read(view: QueryView, request: QuarantineRequest) -> QuarantineShown:
    """Count the rejected records by reason, and read the newest of them."""
    if not view.tables.has("quarantine"):
        return QuarantineShown(note="No record was rejected: the stream has not begun.")
    files = RejectedFiles.of(view.tables)
    if not files.total:
        return QuarantineShown(note="No record was rejected.")
    found = RejectsByReason()
    for rows in files.newest(["stream", "reason", "arrival_time"], _LOOKED_AT):
        found.add(rows)
    arrival = found.arrival
    # Where every record is rejected, nothing is committed any more.
    now = max(committed_until(view.layout) or 0, int(arrival[arrival <= wall_ms()].max(initial=0)))
    advice = RejectAdvice.of(view)
    return QuarantineShown(
        total=files.total,
        without_arrival=found.records - len(arrival),
        last_hour=int(np.count_nonzero(np.abs(arrival - now) <= _HOUR_MS)),
        series=_series(arrival, now),
        reasons=[
            Reason(
                reason=reason,
                records=each.records,
                last=each.last,
                line=None if advice is None else advice.line(each.stream, reason),
            )
            for reason, each in found.most_frequent()
        ],
        records=list(_records(files, found, request)),
        note=_note(found, files.total),
    )


def _note(found: RejectsByReason, total: int) -> str | None:
    notes = []
    if without := found.records - len(found.arrival):
        notes.append(f"{counted(without, 'record')} without a readable arrival time: no hour and no chart counts them.")
    if found.records < total:
        notes.append(f"By reason, the newest {found.records:,} of {total:,} records are counted.")
    return " ".join(notes) or None


def _series(arrival: Ints, now: int) -> RejectSeries:
    """Count records by their arrival, over the last 30 days at most; one that is ahead of the clock is not drawn."""
    arrival = arrival[(arrival > now - _LONGEST_SERIES_MS) & (arrival <= now + _HOUR_MS)]
    if not len(arrival):
        return RejectSeries(at=[], records=[])
    first = int(arrival.min())
    width = max(-(-(int(arrival.max()) + 1 - first) // _POINTS), 1000)
    first = first // width * width
    records = np.bincount((arrival - first) // width)
    return RejectSeries(at=(first + np.arange(len(records)) * width).tolist(), records=records.tolist())


def _records(files: RejectedFiles, found: RejectsByReason, request: QuarantineRequest) -> Iterator[RejectedRecord]:
    """Yield the newest records, of a reason or of all."""
    left = request.limit
    columns = ["stream", "position", "arrival_time", "reason", "record"]
    for file in files.files:
        if not left:
            return
        rows = file.last(columns, left, lambda reasons: _is_asked(reasons, found, request.reason))
        left -= rows.num_rows
        texts = {name: texts_of(rows[name]) for name in columns if name != "arrival_time"}
        for values in zip(rows["arrival_time"].to_pylist(), *texts.values(), strict=True):
            arrival_time, stream, position, reason, record = values
            yield RejectedRecord(
                stream=stream or "",
                position=position or "",
                arrival_time=arrival_time,
                reason=reason or "",
                record=record,
            )


def _is_asked(reasons: pa.ChunkedArray, found: RejectsByReason, asked: str | None) -> pa.Array | None:
    """Test which reasons are of the group that is asked for; None: all are."""
    if asked is None:
        return None
    groups = groups_of(reasons)
    if asked == OTHERS:
        return pc.invert(pc.is_in(groups, pa.array(found.named, pa.string())))
    return pc.equal(groups, asked)


PANEL = Panel(
    "quarantine",
    QuarantineRequest,
    read,
    ("quarantine", "metrics"),
    files=("_stream/deployed.json",),
    shows_records=True,
)
