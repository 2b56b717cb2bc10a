"""What readers and tasks are told of a batch, beside the segments that they read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from tailrace.disorder.policies import policy_of, settings_of
from tailrace.disorder.policy import SlackPolicy
from tailrace.ground.facts import Fact, Facts, newest, prune, stamp

DECLARED = "declared"

BATCH_ROWS = 4_000_000
"""Default upper bound on the rows of one batch."""


@dataclass(frozen=True)
class BatchHeader:
    """What the driver stamps for a batch: the facts, and what the silence of the source means after the batch's rows.

    Attributes
    ----------
    facts : tuple of Fact
        All that a tick or tuple of this batch, or of a later one, can be under; in the order of their stamping.
    heartbeat_ms : int or None
        A heartbeat: the source has passed this arrival time, and what comes from it counts as later.
    closes : bool
        All that came is complete, and open windows close: the stream is quiet, or it ends.
    ends : bool
        Whether this is the last batch of a bounded run.
    """

    batch: int
    facts: Facts
    heartbeat_ms: int | None = None
    closes: bool = False
    ends: bool = False

    @property
    def settings(self) -> Facts:
        """The facts that are the slack policy's settings."""
        return tuple(fact for fact in self.facts if fact.about == "settings")

    @property
    def stamped(self) -> Facts:
        """The facts that were stamped for this batch."""
        return tuple(fact for fact in self.facts if fact.batch == self.batch)

    @property
    def sample(self) -> bool:
        """True if a policy that is in force, or will be, needs a sample of the partials."""
        return any(policy_of(fact.value).samples for fact in self.settings)

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def unpack(data: bytes) -> BatchHeader:
        return header_of(json.loads(data))


def next_facts(facts: Facts, policy: SlackPolicy, evidence: str, newest_tick: int | None, batch: int) -> Facts:
    """Return the facts of the next batch: those of the last one that can still be referred to, and a new policy.

    Parameters
    ----------
    newest_tick : int or None
        The newest tick that was begun. A new policy holds from the next one on, so no processed tick changes.
    batch : int
        The number of the next batch.
    """
    tick = -1 if newest_tick is None else newest_tick
    facts = prune(facts, "settings", tick)
    last = newest(facts, "settings")
    if last is not None and policy_of(last.value) == policy:
        return facts
    return stamp(facts, "settings", settings_of(policy), tick + 1, evidence, batch)


def header_of(values: dict[str, Any]) -> BatchHeader:
    """Restore a header from its JSON values."""
    return BatchHeader(**values | {"facts": tuple(Fact(**fact) for fact in values["facts"])})
