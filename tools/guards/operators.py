"""Guards of the room `operators`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import COST

MUTATIONS = (
    Mutation(
        "interval join: pairs are taken without a copy of the state",
        "operators/interval_join.py",
        "return take(self.columns, index)",
        "return self.columns.take(pa.array(index))",
        (f"{COST}[interval]",),
    ),
    Mutation(
        "window join: pairs are taken without a copy of the state",
        "operators/window_join.py",
        'take(table.select(["id", "event_time", *more]), rows[row])',
        'table.select(["id", "event_time", *more]).take(pa.array(rows[row]))',
        (f"{COST}[window]",),
    ),
    Mutation(
        "a large state: chunks are not merged without end",
        "operators/chunked_rows.py",
        "later.num_rows >= earlier.num_rows and is_small",
        "later.num_rows >= earlier.num_rows",
        (f"{COST}[interval]",),
    ),
    Mutation(
        "interval join: each side is stored for its own bound",
        "operators/interval_join.py",
        "side.append(rows, frontier.last - kept, sort_key)",
        "side.append(rows, frontier.last - max(kept_ms), sort_key)",
        ("tests/unit/operators/test_interval_join.py",),
    ),
    Mutation(
        "interval join: each side is met for its own bound",
        "operators/interval_join.py",
        "right_time + kept_ms[1])",
        "right_time + kept_ms[0])",
        ("tests/unit/operators/test_interval_join.py",),
    ),
    Mutation(
        "sessions: a tuple at the frontier may touch what has closed",
        "operators/session_arrivals.py",
        "arrivals.first > arrivals.before",
        "arrivals.first >= arrivals.before",
        ("tests/unit/operators/test_sessions.py::test_the_operator_answers_and_registers_what_the_oracle_does",),
    ),
    Mutation(
        "sessions: a tuple within an open session is not late",
        "operators/session_arrivals.py",
        "not is_inside and (time",
        "(time",
        ("tests/unit/operators/test_sessions.py::test_the_operator_answers_and_registers_what_the_oracle_does",),
    ),
    Mutation(
        "sessions: a tuple alone that touches what has closed is late",
        "operators/session_arrivals.py",
        "has_ended | (single.first <= single.closed + sessions.reach_ms)",
        "has_ended",
        ("tests/unit/operators/test_sessions.py::test_the_operator_answers_and_registers_what_the_oracle_does",),
    ),
    Mutation(
        "sessions: tuples whose session had ended before their tick are in none",
        "operators/session_arrivals.py",
        "session[ended] = -1",
        "pass",
        ("tests/unit/operators/test_sessions.py::test_the_operator_answers_and_registers_what_the_oracle_does",),
    ),
    Mutation(
        "sessions: joins in a chain are followed to their end",
        "operators/session_arrivals.py",
        "while (final != final[final]).any():",
        "if (final != final[final]).any():",
        ("tests/unit/operators/test_sessions.py::test_the_operator_answers_and_registers_what_the_oracle_does",),
    ),
    Mutation(
        "sessions: what no session holds has closed, too",
        "operators/sessions.py",
        "[state.closed, answered, KeyedRows(rows.key[missed], rows.time[missed], {})]",
        "[state.closed, answered]",
        ("tests/unit/operators/test_sessions.py::test_the_operator_answers_and_registers_what_the_oracle_does",),
    ),
    Mutation(
        "sessions: what has closed is known while it may be touched",
        "operators/sessions.py",
        "last + sessions.reach_ms > frontier - sessions.gap_ms",
        "last + sessions.reach_ms > frontier",
        ("tests/unit/operators/test_sessions.py::test_the_operator_answers_and_registers_what_the_oracle_does",),
    ),
    Mutation(
        "sessions: what has closed and is too old to be touched is forgotten",
        "operators/sessions.py",
        "is_last & (last + sessions.reach_ms > frontier - sessions.gap_ms)",
        "is_last",
        (
            "tests/unit/operators/test_sessions.py::test_a_state_holds_no_more_than_what_is_open_and_one_time_of_what_may_be_touched",
        ),
    ),
)
