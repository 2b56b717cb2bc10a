"""The explanation of a declared query: how it is run, and why so."""

from __future__ import annotations

from tailrace.disorder.policy import SlackPolicy
from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.ground.duration import format_duration
from tailrace.kinds import build
from tailrace.query.column_lineage import column_lineage
from tailrace.query.query import Query


def explanation(query: Query) -> dict[str, str]:
    """Return the parts of the plan by their names."""
    plan = build(query).explanation
    spread = "" if query.tasks == 0 else ", over 1 task" if query.tasks == 1 else f", over {query.tasks} tasks"
    return {
        "query": query.name,
        "kind": query.kind,
        "streams": ", ".join(query.streams),
        **_expressions(query),
        "partition": f"{plan.partition}{spread}",
        "method": plan.method,
        "why": plan.reason,
        "policy": f"{query.policy.policy}, decided at the end of each tick of {format_duration(query.tick_ms)}",
        **_promise(query.policy),
        "lineage": column_lineage(query).summary(),
    }


def _promise(policy: SlackPolicy) -> dict[str, str]:
    """Return what a policy promises, and of which answers."""
    if not isinstance(policy, PromisingPolicy):
        return {}
    names = ", ".join(policy.of) if policy.of else "each answer that is a number"
    return {"promise": f"{names}: off by {policy.error:g} or more in a share of {policy.risk:g} at most"}


def _expressions(query: Query) -> dict[str, str]:
    """Return derived columns and the condition of each stream, of several with their names; and a join's `where`."""
    parts: dict[str, str] = {}
    for name, stream in query.streams.items():
        of_stream = "" if len(query.streams) == 1 else f" of {name}"
        if stream.columns:
            parts[f"columns{of_stream}"] = "; ".join(f"{column}: {text}" for column, text in stream.columns.items())
        if stream.where is not None:
            parts[f"where{of_stream}"] = stream.where
    if query.pair_condition is not None:
        parts["where of pairs"] = query.pair_condition
    return parts
