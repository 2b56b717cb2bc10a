"""Guards of the room `answers`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "retraction",
        "answers/window_revision.py",
        "gone = select(earlier, identity.find(earlier, answers) < 0)",
        "gone = earlier.slice(0, 0)",
        ("tests/properties/test_corrections.py",),
    ),
    Mutation(
        "interval join: an id is remembered for its side's bound",
        "answers/by_pair.py",
        "event_times + self.kept_ms[side] + 1",
        "event_times + self.reach_ms + 1",
        ("tests/unit/answers/test_by_pair.py",),
    ),
    Mutation(
        "correction: windows that hold a repeat on time",
        "answers/by_window.py",
        "hold = select(given, WINDOW.find(given, self.holding(repeated)) >= 0)",
        "hold = given.slice(0, 0)",
        ("tests/properties/test_corrections.py",),
    ),
    Mutation(
        "correction: pairs that a repeat on time brought",
        "answers/by_pair.py",
        "self.missed_by(pa.concat_tables([late, *self._as_late(late.schema, given, repeats)]))",
        "self.missed_by(late)",
        ("tests/properties/test_pair_corrections.py",),
    ),
    Mutation(
        "newest lookups: answers of which nothing is known appear",
        "answers/window_revision.py",
        " or revision.repeats_lookups):",
        "):",
        (
            "tests/unit/stream/test_newest_lookups.py::test_a_window_all_of_whose_records_were_left_out_appears_when_a_newer_version_keeps_them",
        ),
    ),
    Mutation(
        "corrections: what a later cut-off gave is not retracted",
        "answers/window_revision.py",
        "select(versions, ~is_later)",
        "versions",
        (
            "tests/unit/stream/test_newest_lookups.py::test_an_interval_recomputes_all_keys_of_its_windows_with_the_version_that_its_end_knows",
        ),
    ),
    Mutation(
        "having: answers that a stream withholds are no answers",
        "answers/versions.py",
        "results if withheld else without_retracted(results)",
        "results",
        ("tests/unit/aggregate/test_having.py::test_what_is_given_is_what_meets_the_condition[added to]",),
    ),
    Mutation(
        "having: a correction gives none that does not meet it",
        "answers/window_revision.py",
        "select(stamped, ~is_withheld)",
        "stamped",
        ("tests/unit/aggregate/test_having.py::test_what_is_given_is_what_meets_the_condition[added to]",),
    ),
    Mutation(
        "having: what a later cut-off withheld is given by no earlier one",
        "answers/window_revision.py",
        "pa.concat_tables([gone.select(stamped.column_names), select(stamped, is_withheld)])",
        "gone.select(stamped.column_names)",
        ("tests/unit/aggregate/test_having.py::test_an_early_cut_off_gives_no_answer_that_a_later_one_withheld",),
    ),
    Mutation(
        "sessions: answers of a session that is still open are left alone",
        "answers/session_revision.py",
        " & ~going_on.contains(past)",
        "",
        ("tests/unit/correction/test_session_corrections.py",),
    ),
    Mutation(
        "sessions: what a later correction has answered is left to it",
        "answers/session_revision.py",
        "is_mine[theirs.touched_by(affected.table, affected.times[0], reach_ms)[1]] = False",
        "pass",
        ("tests/unit/correction/test_session_corrections.py",),
    ),
    Mutation(
        "sessions: what a later correction has answered in a run is left to it",
        "answers/session_revision.py",
        "is_mine[affected.touched_by(later, first, reach_ms)[0]] = False",
        "pass",
        ("tests/unit/correction/test_session_corrections.py",),
    ),
    Mutation(
        "sessions: late rows tell what has closed",
        "answers/session_revision.py",
        "int(frontiers.max(initial=affected.frontier))",
        "affected.frontier",
        ("tests/unit/correction/test_session_corrections.py",),
    ),
    Mutation(
        "sessions: the memory of many late tuples follows their number",
        "answers/by_session.py",
        "np.sort(np.unique(code, return_index=True)[1])",
        "np.flatnonzero(np.full(code.max(initial=0) + 1, -1)[code] < 0)",
        ("tests/unit/answers/test_by_session.py",),
    ),
    Mutation(
        "sessions: a late tuple missed what it touches, and not only what holds it",
        "answers/by_session.py",
        "self._touching(among, late, self.late_time, self.sessions.reach_ms)",
        "self._touching(among, late, self.late_time, 0)",
        ("tests/unit/answers/test_by_session.py",),
    ),
    Mutation(
        "sessions: two that a late tuple joins lack each other's tuples",
        "answers/by_session.py",
        "of_late[~self._is_held(given, unseen) | (sessions[of_late] > 1)]",
        "of_late[~self._is_held(given, unseen)]",
        ("tests/unit/panels/test_right_sessions.py",),
    ),
    Mutation(
        "sessions: a late tuple that its session holds does not lack",
        "answers/by_session.py",
        "of_late[~self._is_held(given, unseen) | (sessions[of_late] > 1)]",
        "of_late",
        ("tests/unit/panels/test_right_sessions.py",),
    ),
    Mutation(
        "sessions: a withheld session that is corrected lacks nothing",
        "answers/by_session.py",
        "is_seen = self.is_seen(latest, late)",
        "is_seen = np.zeros(late.num_rows, bool)",
        ("tests/unit/panels/test_right_sessions.py",),
    ),
)
