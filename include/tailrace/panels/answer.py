"""The panel of one answer: its versions, the late tuples that changed it, and the correction that included each."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pydantic import Field

from tailrace.answers.versions import without_retracted
from tailrace.ground.arrow.matching import number_rows, select
from tailrace.panels.answer_ids import AnswerId, no_id
from tailrace.panels.answer_summary import summary_of
from tailrace.panels.answer_versions import row_key, shown_columns
from tailrace.panels.cells import Cell, ColumnType, ShownColumn, cells_of
from tailrace.panels.late_reading import VALUE
from tailrace.panels.late_tuples import LateTuples, late_tuples
from tailrace.panels.panel import Panel, PanelAnswer, PanelRequest, Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView

_MOST_LATE = 200


class AnswerRequest(PanelRequest):
    """The answer, by its id in the list of answers."""

    id: str


class IdentityPart(Shown):
    """A column that identifies the answer, and its value."""

    name: str
    value: Cell
    type: ColumnType


class AnswerVersion(Shown):
    """A row of an answer's version; a ranking's version has several rows with the same `as_of`.

    Attributes
    ----------
    as_of : int
        The arrival time before which its content had arrived.
    emitted_at : int or None
        When it was written, by the wall clock.
    source : str
        `stream` or `correction`.
    interval : str or None
        The range of the correction.
    values : list
        The values of the panel's columns; a retraction has only its identity.
    coverage : float or None
        The share of the tuples so far that it includes.
    """

    as_of: int
    emitted_at: int | None
    source: str
    interval: str | None
    values: list[Cell]
    tuples: int
    coverage: float | None
    k_ms: int | None
    is_retracted: bool


class LateTuple(Shown):
    """A late tuple of the answer.

    Attributes
    ----------
    delay_ms : int
        The time from its event time to its arrival.
    file : str
        The file or partition of the source; `position` is the record in it, from 0.
    corrected_by : int or None
        The `as_of` of the first version that includes it; None if none does yet.
    """

    id: str
    event_time: int
    arrival_time: int
    delay_ms: int
    file: str
    position: int
    values: dict[str, Cell]
    corrected_by: int | None


class OneAnswer(PanelAnswer):
    """One answer.

    Attributes
    ----------
    summary : str
        An explanation of its present value, in a few sentences; empty if its late tuples are unknown.
    versions : list
        In the order in which they came.
    late : list
        In order of arrival, at most 200 of `late_total`, which is null where the table `late` is damaged.
    late_columns : list
        The columns of their values.
    """

    summary: str = ""
    identity: list[IdentityPart] = Field(default=[])
    columns: list[ShownColumn] = Field(default=[])
    versions: list[AnswerVersion] = Field(default=[])
    late: list[LateTuple] = Field(default=[])
    late_total: int | None = 0
    late_columns: list[ShownColumn] = Field(default=[])


def read(view: QueryView, request: AnswerRequest) -> OneAnswer:
    """Read the versions of an answer and its late tuples.

    Raises
    ------
    Refused
        When no answer has the id.
    """
    if not view.tables.has("results"):
        return OneAnswer(note="There are no answers yet: the stream has not begun.")
    model = view.kind.answers
    answer = AnswerId.parse(request.id, model).find(view)
    if answer is None:
        raise no_id(request.id)
    versions = _in_order(view.answers.versions_of(answer), row_key(model))
    if not without_retracted(versions).num_rows:  # the stream withheld it, and no correction added it
        raise no_id(request.id)
    pieces = Pieces()
    late = late_tuples(view, answer, not all(versions["corrected"].to_pylist()), pieces)
    names = shown_columns(view, versions)
    columns, (rows,) = cells_of([versions], names)
    heads, (identity,) = cells_of([answer], answer.column_names)
    corrections = sorted(set(select(versions, versions["corrected"].to_numpy())["as_of"].to_pylist()))
    late_columns, tuples = ([], []) if late is None else _late(late, corrections)
    values = [name for name in names if name not in (*model.row_identity, "window_start")]
    return OneAnswer(
        summary="" if late is None else summary_of(view, versions, rows, columns, values, late),
        identity=[
            IdentityPart(name=head.name, type=head.type, value=value)
            for head, value in zip(heads, identity[0], strict=True)
        ],
        columns=columns,
        versions=_versions(versions, rows, late, [head.name in answer.column_names for head in columns]),
        late=tuples,
        late_total=None if late is None else late.total,
        late_columns=late_columns,
        note=f"Its late tuples can't be shown one by one: {late.fault}." if late and late.fault else None,
        damaged=pieces.damaged,
    )


def _in_order(versions: pa.Table, ranks: list[str]) -> pa.Table:
    """Return the rows in the order in which the versions took effect."""
    (number,) = number_rows([versions], ["interval"])
    keys = [versions[name].to_numpy() for name in reversed(ranks)]
    order = np.lexsort([*keys, number, *(versions[name].to_numpy() for name in ("corrected", "as_of"))])
    return versions.take(pa.array(order))


def _versions(
    versions: pa.Table, rows: list[list[Cell]], late: LateTuples | None, is_identity: list[bool]
) -> list[AnswerVersion]:
    arrived, tuples = (np.zeros(0) if late is None else late.rows[name].to_numpy() for name in ("arrived", "tuples"))
    stamps = versions.select(
        ["as_of", "emitted_at", "interval", "tuples", "k_ms", "corrected", "retracted"]
    ).to_pylist()
    shown = []
    for stamp, row in zip(stamps, rows, strict=True):
        corrected, is_retracted = stamp.pop("corrected"), bool(stamp.pop("retracted"))
        total = stamp["tuples"] + int(tuples[arrived > stamp["as_of"]].sum() if corrected else tuples.sum())
        values = [value if kept or not is_retracted else None for value, kept in zip(row, is_identity, strict=True)]
        shown.append(
            AnswerVersion(
                **stamp,
                source="correction" if corrected else "stream",
                values=values,
                coverage=stamp["tuples"] / total if late is not None and total and not is_retracted else None,
                is_retracted=is_retracted,
            )
        )
    return shown


def _late(late: LateTuples, corrections: list[int]) -> tuple[list[ShownColumn], list[LateTuple]]:
    tuples = late.tuples.slice(0, _MOST_LATE)
    names = [name for name in tuples.column_names if name.startswith(VALUE)]
    columns, (values,) = cells_of([tuples], names)
    columns = [ShownColumn(name=head.name.removeprefix(VALUE), type=head.type) for head in columns]
    heads = [head.name for head in columns]
    _, (ids,) = cells_of([tuples], [name for name in ("id",) if name in tuples.column_names])
    versions = []
    for row, cells, id_ in zip(tuples.to_pylist(), values or [[]] * tuples.num_rows, ids, strict=True):
        versions.append(
            LateTuple(
                id=id_[0],
                **{name: row[name] for name in ("event_time", "arrival_time", "file", "position")},
                delay_ms=row["arrival_time"] - row["event_time"],
                values=dict(zip(heads, cells, strict=True)),
                corrected_by=next((as_of for as_of in corrections if as_of >= row["arrived"]), None),
            )
        )
    return columns, versions


PANEL = Panel("answer", AnswerRequest, read, ("results", "corrections", "late", "segments"), shows_records=True)
