"""Chart of the answers of one key: their numbers, as streamed and as corrected."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.by_window import ByWindow
from tailrace.answers.model import AnswerModel
from tailrace.ground.arrow.number_types import as_doubles, is_number
from tailrace.panels.answer_versions import SideBySide
from tailrace.panels.panel import Shown
from tailrace.panels.thinning import extremes
from tailrace.tables.every import ANSWER_TIMES

_MOST_SERIES = 6


class ChartSeries(Shown):
    """A column of answers, as streamed and as corrected."""

    name: str
    streamed: list[float | None]
    latest: list[float | None]


class AnswerChart(Shown):
    """The numbers of one key, by the end of their windows."""

    at: list[int]
    series: list[ChartSeries]


def chart_of(model: AnswerModel, sides: SideBySide, answers: pa.Table, compared: list[str]) -> AnswerChart | None:
    """Return the numbers of one key, thinned; None for answers without numbers, rankings, pairs, or several keys."""
    values = [name for name in compared if name not in ANSWER_TIMES]
    numbers = [name for name in values if is_number(sides.streamed.schema.field(name).type)][:_MOST_SERIES]
    if not isinstance(model, ByWindow) or model.row_key or not numbers or len(answers["key"].unique()) > 1:
        return None
    end = sides.given(["window_end"])["window_end"].to_numpy()
    sides = sides.take(np.argsort(end, kind="stable"))
    pairs = [[_floats(rows[name]) for rows in sides.sides()] for name in numbers]
    kept = extremes([column for pair in pairs for column in pair])
    series = [
        ChartSeries(name=name, streamed=_cells(streamed[kept]), latest=_cells(latest[kept]))
        for name, (streamed, latest) in zip(numbers, pairs, strict=True)
    ]
    return AnswerChart(at=np.sort(end)[kept].tolist(), series=series)


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    return np.asarray(as_doubles(column).to_numpy(), np.float64)


def _cells(values: NDArray[np.float64]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]
