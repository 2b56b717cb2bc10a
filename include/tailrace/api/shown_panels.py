"""The data of a query's picture, read from four panels of its page."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.panels import answers, frontier, late, promise
from tailrace.panels.answers import AnswersRequest, AnswersShown
from tailrace.panels.arrival_range import ArrivalRequest
from tailrace.panels.frontier import FrontierAnswer
from tailrace.panels.late import LateAnswer
from tailrace.panels.promise import PromiseAnswer, PromiseRequest
from tailrace.panels.query_view import QueryView

_BEFORE_ALL_MS = -1 << 53


@dataclass(frozen=True)
class ShownPanels:
    """The answers of the panels.

    Attributes
    ----------
    key : str or None
        The key of the requested answers; None for all keys.
    """

    name: str
    frontier: FrontierAnswer
    promise: PromiseAnswer
    answers: AnswersShown
    late: LateAnswer
    key: str | None

    @staticmethod
    def read(view: QueryView, start: int | None, end: int | None, key: str | None) -> ShownPanels:
        """Read the panels over (start, end], in ms of arrival and of event time; without a start, over all arrivals."""
        arrival = ArrivalRequest(from_=_BEFORE_ALL_MS if start is None else start, to=end)
        return ShownPanels(
            view.query.name,
            frontier.read(view, arrival),
            promise.read(view, PromiseRequest(from_=start, to=end)),
            answers.read(view, AnswersRequest.model_validate({"from": start, "to": end, "key": key})),
            late.read(view, arrival),
            key,
        )
