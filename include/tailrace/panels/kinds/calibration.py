"""The evidence of the newest calibration: the accuracy that each wait would have given."""

from __future__ import annotations

from tailrace.disorder.cache_duration import CacheDuration
from tailrace.panels.panel import Shown
from tailrace.panels.plain_values import plain
from tailrace.panels.query_view import QueryView
from tailrace.storage.proposals import Proposals


class Duration(Shown):
    """A wait that was measured, in ms, and the accuracy with it."""

    ms: int
    accuracy: float | None


class Calibration(Shown):
    """The newest proposal for the declared policy.

    Attributes
    ----------
    durations : list of Duration
        Ascending.
    k_ms : int
        The slack K (allowed lateness) that it proposes.
    accuracy : float or None
        The accuracy with that K; null where it was not measured.
    promised : float
        The accuracy that is to be kept.
    windows : int
        The number of windows over which it measured.
    until : int
        The point of arrival up to which it read history.
    made_at : int
        Wall-clock time of the proposal.
    """

    durations: list[Duration]
    k_ms: int
    accuracy: float | None
    promised: float
    windows: int
    until: int
    made_at: int
    evidence: str


def newest_calibration(view: QueryView) -> Calibration | None:
    """Read the newest calibration; None before the first, and where the policy takes none."""
    policy = view.query.policy
    newest = Proposals(view.layout).newest(policy) if isinstance(policy, CacheDuration) else None
    if newest is None or not isinstance(policy, CacheDuration):
        return None
    return Calibration(
        durations=[Duration(ms=ms, accuracy=plain(accuracy)) for ms, accuracy in sorted(newest.durations)],
        k_ms=newest.k_ms,
        accuracy=plain(newest.accuracy),
        promised=policy.accuracy,
        windows=newest.windows,
        until=newest.until,
        made_at=newest.made_at,
        evidence=newest.evidence,
    )
