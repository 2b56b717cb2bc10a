"""Guards of the room `demo`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "the demonstration: what others changed or added stays",
        "demo/inventory.py",
        "cleared = [place for place in self._places if not self._foreign(place)]",
        "cleared = list(self._places)",
        ("tests/unit/demo/test_inventory.py",),
    ),
    Mutation(
        "the demonstration: a place that others have taken",
        "demo/walkthrough.py",
        "    inventory.require_free(written)\n",
        "",
        ("tests/unit/demo/test_walkthrough.py",),
    ),
    Mutation(
        "the demonstration: the runs of its own DAGs are deleted, as a backfill passes over what has run",
        "demo/walkthrough.py",
        "    if past:\n",
        "    if False:\n",
        ("tests/unit/demo/test_walkthrough.py",),
    ),
)
