"""Refuses for sessions what needs windows of a known length, or later versions of tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.disorder.k_slack import KSlack
from tailrace.disorder.mp_k_slack import MPKSlack
from tailrace.disorder.no_slack import NoSlack
from tailrace.ground.errors import refuse
from tailrace.ground.fields import field_error
from tailrace.sources.answers_source import AnswersSource

if TYPE_CHECKING:
    from tailrace.query.query import Query
    from tailrace.query.windowed import WindowedQuery

_FIELD = "window.session"


def require_lengths(query: Query) -> None:
    """Refuse calibrations of sessions.

    Raises
    ------
    Refused
    """
    if query.has_sessions:
        fault = "a calibration measures windows with a size, and a session has none"
        raise refuse(_FIELD, fault, "policy: k_slack, with a wait by what tailrace quality and tailrace late show")


def check_sessions(query: WindowedQuery) -> None:
    """Refuse a query over sessions if its kind, policy or stream does not go with sessions.

    Raises
    ------
    PydanticCustomError
    """
    if query.kind != "aggregate":
        fault = f"kind {query.kind} answers windows with a size, and sessions have none"
        raise field_error(fault, "kind: aggregate; or window: {size: 30 min}", _FIELD)
    if not isinstance(query.policy, NoSlack | KSlack | MPKSlack):
        fault = f"policy {query.policy.policy} measures windows with a size, and can promise nothing of sessions"
        remedy = "policy: k_slack, with a fixed wait such as k: 10 s; or mp_k_slack, which waits for the latest so far"
        raise field_error(fault, remedy, "disorder.policy")
    name, stream = query.stream
    if isinstance(stream.source, AnswersSource):
        fault = "an answer that is corrected would move sessions, which no correction follows yet"
        raise field_error(fault, "window: {size: …}; or a stream of tuples", _FIELD)
    for lookup, section in stream.lookup.items():
        if section.corrections == "newest":
            fault = "a newer version of the table would move tuples from session to session"
            raise field_error(fault, "corrections: seen", f"streams.{name}.lookup.{lookup}.corrections")
