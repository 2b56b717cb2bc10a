"""The header of a batch: the facts and the records of silence that readers and tasks get beside its segments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tailrace.disorder.error_model import Promises
from tailrace.disorder.policies import policy_of
from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.ground.facts import Fact, Facts


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
        All that came is complete, and open windows close: the streams are quiet, or a bounded run ends.
    ends : bool
        Whether this is the last batch of a bounded run. A later run may follow; what comes for closed windows is late
        then, as after quiet.
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

    def plans(self, since: int = 0) -> Facts:
        """The facts that are partition plans, of those that were stamped for batch `since` or a later one."""
        return tuple(fact for fact in self.facts if fact.about == "plan" and fact.batch >= since)

    @property
    def stamped(self) -> Facts:
        """The facts that were stamped for this batch."""
        return tuple(fact for fact in self.facts if fact.batch == self.batch)

    @property
    def promises(self) -> Promises:
        """What the policies that are in force, or will be, promise: they need a sample of the partials for that."""
        policies = (policy_of(fact.value) for fact in self.settings)
        return [policy.of for policy in policies if isinstance(policy, PromisingPolicy)]

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def unpack(data: bytes) -> BatchHeader:
        return header_of(json.loads(data))


def header_of(values: dict[str, Any]) -> BatchHeader:
    """Restore a header from its JSON values."""
    facts = tuple(Fact(**fact) for fact in values["facts"])
    return BatchHeader(**values | {"facts": facts, "idle": tuple(values["idle"])})
