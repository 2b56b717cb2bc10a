"""The header of a batch: the facts and the records of silence that readers and tasks get beside its segments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tailrace.disorder.policies import policy_of, settings_of
from tailrace.disorder.policy import SlackPolicy
from tailrace.ground.facts import Fact, Facts, newest, prune, stamp

DECLARED = "declared"

BATCH_ROWS = 4_000_000
"""Default upper bound on the rows of one batch."""


@dataclass(frozen=True)
class BatchHeader:
    """The header that the driver stamps for a batch: the facts, and the silence of streams after the batch's rows.

    Attributes
    ----------
    facts : tuple of Fact
        All that a tick or tuple of this batch, or of a later one, can be under; in the order of their stamping.
    heartbeats : dict
        Heartbeats: a stream, by its name, has passed this arrival time (ms), and what comes from it counts as later.
    idle : tuple of str
        The streams for which no tick waits, from after this batch's rows until a batch that has rows of them.
    closes : bool
        All that came is complete, and open windows close: the streams are quiet, or they end.
    ends : bool
        Whether this is the last batch of a bounded run.
    idle_ms : int
        The arrival time after which a stream without tuples holds t_max back no longer.
    """

    batch: int
    facts: Facts
    heartbeats: Mapping[str, int] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    closes: bool = False
    ends: bool = False
    idle_ms: int = 60_000

    @property
    def settings(self) -> Facts:
        """The facts that are the slack policy's settings."""
        return tuple(fact for fact in self.facts if fact.about == "settings")

    @property
    def plans(self) -> Facts:
        """The facts that are partition plans."""
        return tuple(fact for fact in self.facts if fact.about == "plan")

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


def next_facts(
    facts: Facts,
    policy: SlackPolicy,
    evidence: str,
    newest_tick: int | None,
    complete_tick: int | None,
    batch: int,
) -> Facts:
    """Return the facts of the next batch: those of the last one that can still be referred to, and a new policy.

    Parameters
    ----------
    newest_tick : int or None
        The newest tick that was begun. A new policy holds from the next one on, so no processed tick changes.
    complete_tick : int or None
        The last tick that is complete: what holds in no later one is referred to no more.
    batch : int
        The number of the next batch.
    """
    tick = -1 if newest_tick is None else newest_tick
    facts = facts if complete_tick is None else prune(facts, "settings", complete_tick + 1)
    last = newest(facts, "settings")
    if last is not None and policy_of(last.value) == policy:
        return facts
    return stamp(facts, "settings", settings_of(policy), tick + 1, evidence, batch)


def header_of(values: dict[str, Any]) -> BatchHeader:
    """Restore a header from its JSON values."""
    facts = tuple(Fact(**fact) for fact in values["facts"])
    return BatchHeader(**values | {"facts": facts, "idle": tuple(values["idle"])})
