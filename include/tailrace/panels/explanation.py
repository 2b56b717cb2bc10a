"""The explanation of a declared query: how it is run, and why."""

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
        **_null_keys(query),
        "method": plan.method,
        "why": plan.reason,
        "policy": f"{query.policy.policy}, decided at the end of each tick of {format_duration(query.tick_ms)}",
        **_promise(query.policy),
        "lineage": column_lineage(query).summary(),
    }


def _null_keys(query: Query) -> dict[str, str]:
    """Return the treatment of nulls in the key; nothing for a query without a key."""
    keyed = [stream for stream in query.streams.values() if stream.key is not None]
    if not keyed:
        return {}
    if not all(stream.groups_nulls for stream in keyed):
        return {"null key": "a record with a null there goes to quarantine"}
    is_said = all(stream.null_key is not None for stream in keyed)
    began = "" if is_said else ", but in a stream begun with quarantine"
    return {"null key": f"a null is a group of its own{began}"}


def _promise(policy: SlackPolicy) -> dict[str, str]:
    """Return the promise of a policy, and the answers that it covers."""
    if not isinstance(policy, PromisingPolicy):
        return {}
    names = ", ".join(policy.of) if policy.of else "each answer that is a number"
    return {"promise": f"{names}: off by {policy.error:g} or more in a share of {policy.risk:g} at most"}


def _expressions(query: Query) -> dict[str, str]:
    """Return lookups, derived columns and the condition of each stream (by name if several), and a join's `where`."""
    parts: dict[str, str] = {}
    for name, stream in query.streams.items():
        of_stream = "" if len(query.streams) == 1 else f" of {name}"
        for lookup, each in stream.lookup.items():
            met = " and ".join(own if own == of_table else f"{own} = {of_table}" for own, of_table in each.key.items())
            table = each.table if each.path is None else each.path.name
            parts[f"lookup{of_stream} {lookup}"] = f"{', '.join(each.columns)} of {table} by {met}"
        if stream.columns:
            parts[f"columns{of_stream}"] = "; ".join(f"{column}: {text}" for column, text in stream.columns.items())
        if stream.where is not None:
            parts[f"where{of_stream}"] = stream.where
    if query.pair_condition is not None:
        parts["where of pairs"] = query.pair_condition
    return parts
