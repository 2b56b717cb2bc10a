"""The header of a batch: the facts and records of silence that readers and tasks get beside its segments."""

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
        All facts that can apply to a tick or tuple of this batch or a later one, in the order of their stamping.
    heartbeats : dict
        Heartbeats: the arrival time (ms) that a stream, by its name, has passed; its further tuples count as later.
    idle : tuple of str
        The streams that no tick waits for, from after this batch's rows until a batch with rows of them.
    closes : bool
        Whether all ticks so far are complete and open windows close, because the streams are silent or a bounded run
        ends.
    ends : bool
        Whether this is the last batch of a bounded run. In a later run, tuples of closed windows are late, as after
        silence.
    idle_ms : int
        The arrival time after which a stream without tuples no longer holds back t_max.
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
        """Return the facts that are partition plans, stamped for batch `since` or later."""
        return tuple(fact for fact in self.facts if fact.about == "plan" and fact.batch >= since)

    @property
    def stamped(self) -> Facts:
        """The facts that were stamped for this batch."""
        return tuple(fact for fact in self.facts if fact.batch == self.batch)

    @property
    def promises(self) -> Promises:
        """The promises of the policies in force now or later, for which a sample of the partials is needed."""
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
