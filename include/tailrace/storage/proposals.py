"""The table `proposals`: settings that calibrations propose and the driver adopts between batches. No Spark."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from tailrace.disorder.policies import policy_from_json
from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.next_facts import DECLARED
from tailrace.storage.layout import Layout
from tailrace.storage.table_log import Commit, newest_commit
from tailrace.storage.tables import Tables
from tailrace.tables.calibration import PROPOSALS

_ASK_EVERY_S = 1.0


@dataclass(frozen=True)
class Proposal:
    """A policy's settings as proposed by a calibration.

    Attributes
    ----------
    made_at : int
        Wall-clock time of the proposal, ms.
    declared, settings : str
        The declared settings for which the proposal was made, and the proposed ones; JSON.
    k_ms, lower_ms, upper_ms : int
        The proposed slack K (allowed lateness), and the interval (lower_ms, upper_ms] that the next calibration
        searches.
    durations : tuple of (int, float)
        Each measured duration, in ms, and its accuracy.
    windows : int
        The number of windows over which they were measured.
    accuracy : float or None
        The accuracy with K; None where K was not measured.
    until : int
        The arrival time up to which history was read; ms.
    evidence : str
        All of this in words.
    """

    made_at: int
    declared: str
    settings: str
    k_ms: int
    lower_ms: int
    upper_ms: int
    durations: tuple[tuple[int, float], ...]
    windows: int
    accuracy: float | None
    until: int
    evidence: str


class Proposals:
    """The proposals of a query; calibrations are their only writer.

    `newest` may be called often: the table is read again only when it has another version.
    """

    def __init__(self, layout: Layout) -> None:
        self.tables = Tables(layout)
        self._commit: Commit | None = None
        self._proposals: list[tuple[SlackPolicy, Proposal]] = []  # oldest first
        self._due_s = -math.inf

    def newest(self, declared: SlackPolicy) -> Proposal | None:
        """Return the newest proposal made for equal settings, even if written differently; None without one."""
        commit = newest_commit(self.tables.layout.table("proposals"))
        if commit is None and not self.tables.layout.is_remote:
            self.tables.has("proposals")  # raises an error if only its log is lost
        if commit is not None and commit != self._commit:
            rows = self.tables.read("proposals").sort_by("made_at").to_pylist()
            self._proposals = [_proposal(row) for row in rows]
            self._commit = commit
        return self._newest_read(declared)

    def settings_in_force(self, declared: SlackPolicy) -> tuple[SlackPolicy, str]:
        """Return the policy in force for a declared one, with its evidence: the newest proposal, else the declaration.

        An object store is asked at most once a second.
        """
        now_s = time.monotonic()
        if not self.tables.layout.is_remote or now_s >= self._due_s:
            newest = self.newest(declared)
            self._due_s = now_s + _ASK_EVERY_S  # only now: an unavailable store gave no answer
        else:
            newest = self._newest_read(declared)
        return (declared, DECLARED) if newest is None else (policy_from_json(newest.settings), newest.evidence)

    def add(self, proposal: Proposal) -> None:
        """Append a proposal; the caller holds the lock `calibration`."""
        previous = self.newest(policy_from_json(proposal.declared))
        if previous is not None:  # its time is later even if the wall clock was set back
            proposal = replace(proposal, made_at=max(proposal.made_at, previous.made_at + 1))
        self.tables.create({"proposals": PROPOSALS.schema()})
        row = asdict(proposal) | {"durations": json.dumps(proposal.durations)}
        self.tables.add("proposals", PROPOSALS.table([row]))
        self.tables.compact(("proposals",))

    def _newest_read(self, declared: SlackPolicy) -> Proposal | None:
        return next((made for policy, made in reversed(self._proposals) if policy == declared), None)


def _proposal(row: dict[str, Any]) -> tuple[SlackPolicy, Proposal]:
    """Return a row's policy, and its proposal."""
    durations = tuple((int(duration), float(accuracy)) for duration, accuracy in json.loads(row["durations"]))
    return policy_from_json(row["declared"]), Proposal(**row | {"durations": durations})
