"""The protocol of a panel: one part of a query's page, which is read by itself and can fail by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from tailrace.panels.query_view import QueryView


class Shown(BaseModel):
    """Base of what panels return: JSON of plain values.

    Times are epoch milliseconds of UTC, durations are milliseconds, shares lie between 0 and 1. Unknown is null.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")


class PanelAnswer(Shown):
    """Base of the answer of a panel.

    Attributes
    ----------
    note : str or None
        Why the panel is empty, or shows only a part; None where it shows all.
    """

    note: str | None = None


class PanelRequest(BaseModel):
    """Base of the settings of a panel, which stand in the page's address."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Panel:
    """One part of a query's page.

    Attributes
    ----------
    name : str
        The part's name in addresses.
    request : type
        The settings that it takes.
    read : callable
        Returns its `PanelAnswer`, from a `QueryView` and a request.
    tables : tuple of str
        The tables that it reads. An answer is kept as long as none of them has a newer version.
    files : tuple of str
        Files of the query's home that it reads, relative to it, as `_stream/deployed.json`.
    shows_records : bool
        Whether it shows raw records: those who may not read the logs of the stream's DAG do not get it.
    """

    name: str
    request: type[PanelRequest]
    read: Callable[[QueryView, Any], PanelAnswer]
    tables: tuple[str, ...]
    files: tuple[str, ...] = ()
    shows_records: bool = False
