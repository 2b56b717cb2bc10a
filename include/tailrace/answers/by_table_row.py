"""Answers by pairs of a tuple and a row of a dimension table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.answers.by_pair import ByPair
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.matching import Rows


@dataclass(frozen=True)
class ByTableRow(ByPair):
    """The answer model of kinds that join a stream with a dimension table (`answers.model.AnswerModel`).

    A row of the table has no time, so `right_time` is null. A pair is answered when its tuple comes, so no tuple is
    late.
    """

    kept_ms: tuple[int, int] = (0, 0)

    def horizon(self, answers: Rows) -> Ints:
        return np.asarray(answers.column("left_time"))

    @property
    def horizon_columns(self) -> tuple[str, ...]:
        return ("left_time",)
