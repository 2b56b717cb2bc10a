"""The evidence of the newest calibration: the accuracy of each wait."""

from __future__ import annotations

from tailrace.disorder.cache_duration import CacheDuration
from tailrace.panels.cells import plain
from tailrace.panels.panel import Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.storage.proposals import Proposals


class Duration(Shown):
    """A measured wait, in ms, and its accuracy."""

    ms: int
    accuracy: float | None


class NewestProposal(Shown):
    """The newest proposal for the declared policy.

    Attributes
    ----------
    durations : list of Duration
        Ascending.
    k_ms : int
        The slack K (allowed lateness) that it proposes.
    accuracy : float or None
        The accuracy with this K; null where it was not measured.
    promised : float
        The accuracy to keep.
    windows : int
        The number of windows measured.
    until : int
        The arrival time up to which it read history.
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


def newest_calibration(view: QueryView, pieces: Pieces) -> NewestProposal | None:
    """Read the newest calibration; None if there is none.

    There is none before the first, for a policy that takes no proposals, or if its table is damaged.
    """
    policy = view.query.policy
    if not isinstance(policy, CacheDuration):
        return None
    newest = pieces.read("calibration", lambda: Proposals(view.layout).newest(policy), None)
    if newest is None:
        return None
    return NewestProposal(
        durations=[Duration(ms=ms, accuracy=plain(accuracy)) for ms, accuracy in sorted(newest.durations)],
        k_ms=newest.k_ms,
        accuracy=plain(newest.accuracy),
        promised=policy.accuracy,
        windows=newest.windows,
        until=newest.until,
        made_at=newest.made_at,
        evidence=newest.evidence,
    )
