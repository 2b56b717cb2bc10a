"""The protocol of a panel: a part of a query's page, which is read separately and can fail separately."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tailrace.ground.errors import Problem
from tailrace.panels.query_view import QueryView


class Shown(BaseModel):
    """Base of the panels' results: JSON of plain values.

    Times are epoch milliseconds of UTC, durations are milliseconds, shares lie between 0 and 1. Unknown values are
    null.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")


class DamagedTable(Shown):
    """A damaged table, or another damaged part of the warehouse, and the remedy.

    Attributes
    ----------
    remedy : str
        The repair, as a sentence.
    fields : list of str
        The fields of the answer that are incomplete because of it.
    """

    where: str
    fault: str
    remedy: str
    fields: list[str]

    @staticmethod
    def from_problem(problem: Problem, fields: Iterable[str]) -> DamagedTable:
        """Return the damage that a problem names."""
        return DamagedTable(where=problem.where, fault=problem.fault, remedy=problem.advice, fields=sorted(fields))


class PanelAnswer(Shown):
    """Base of the answer of a panel.

    Attributes
    ----------
    note : str or None
        The reason why the panel is empty or incomplete; None where it is complete.
    damaged : list of DamagedTable
        The damaged tables without which the rest is shown; if nothing can be shown, there is no answer.
    """

    note: str | None = None
    damaged: list[DamagedTable] = Field(default=[])


class PanelRequest(BaseModel):
    """Base of the settings of a panel, which are in the page's address."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Panel:
    """One part of a query's page.

    Attributes
    ----------
    name : str
        The part's name in addresses.
    request : type
        The type of its settings.
    read : callable
        Returns its `PanelAnswer`, from a `QueryView` and a request.
    tables : tuple of str
        The tables that it reads. An answer is cached until one of them has a newer version.
    files : tuple of str
        Files of the query's home that it reads, relative to it, such as `_stream/deployed.json`.
    shows_records : bool
        Whether it shows raw records, which need the right to the logs of the stream's DAG.
    """

    name: str
    request: type[PanelRequest]
    read: Callable[[QueryView, Any], PanelAnswer]
    tables: tuple[str, ...]
    files: tuple[str, ...] = ()
    shows_records: bool = False
