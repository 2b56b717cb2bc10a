"""Guards of the room `calibration`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import WAREHOUSE

MUTATIONS = (
    Mutation(
        "t_max: a calibration counts event times as the stream does",
        "calibration/calibration_input.py",
        "self.reader.columns.counted_events(event, arrival)",
        "event",
        ("tests/unit/calibration/test_calibration_input.py",),
    ),
    Mutation(
        "acceptance: a report of other settings of the policy does not fit",
        "calibration/acceptance.py",
        "if not _is_policy(basis.declared, query.policy):",
        "if False:",
        ("tests/unit/cli/test_calibrate.py::test_a_dry_run_for_other_settings_of_the_policy_is_refused",),
    ),
    Mutation(
        "acceptance: a report of another checkpoint does not fit",
        "calibration/acceptance.py",
        "if basis.checkpoint != checkpoint:",
        "if False:",
        (
            "tests/unit/cli/test_calibrate.py::test_a_report_that_does_not_fit_is_refused_by_its_place_and_proposes_nothing",
        ),
    ),
    Mutation(
        "acceptance: a dry run before a later proposal does not fit",
        "calibration/acceptance.py",
        "if newest is not None and newest.made_at != basis.previous and not is_of(newest, report):",
        "if False:",
        ("tests/unit/cli/test_calibrate.py::test_a_dry_run_before_a_later_proposal_is_refused",),
    ),
    Mutation(
        "acceptance: accepted twice, a dry run is one proposal",
        "calibration/acceptance.py",
        "if newest is None or not is_of(newest, report):",
        "if True:",
        (
            "tests/unit/cli/test_calibrate.py::test_an_accepted_dry_run_proposes_what_the_same_calibration_would_and_measures_nothing",
        ),
    ),
    Mutation(
        "acceptance: what has proposed is no dry run",
        "calibration/acceptance.py",
        "    if report.proposed:",
        "    if False:",
        (
            "tests/unit/cli/test_calibrate.py::test_a_report_that_does_not_fit_is_refused_by_its_place_and_proposes_nothing",
        ),
    ),
    Mutation(
        "acceptance: a report has measurements, and times that can be",
        "calibration/acceptance.py",
        "if not _is_sound(report):",
        "if False:",
        (
            "tests/unit/cli/test_calibrate.py::test_a_report_that_does_not_fit_is_refused_by_its_place_and_proposes_nothing",
        ),
    ),
    Mutation(
        "bucket: a calibration whose lease is lost proposes nothing",
        "calibration/calibrate.py",
        "        require_held()\n",
        "",
        (WAREHOUSE,),
    ),
    Mutation(
        "calibration: the least accurate column of answers counts",
        "calibration/measure.py",
        "by_column.mean(axis=2).argmin(axis=1)",
        "by_column.mean(axis=2).argmax(axis=1)",
        ("tests/unit/calibration/test_columns.py",),
    ),
    Mutation(
        "standard error: few blocks spread less than many",
        "calibration/standard_error.py",
        "of_mean += common / n",
        "of_mean += 0 * common",
        ("tests/unit/calibration/test_standard_error.py",),
    ),
    Mutation(
        "standard error: blocks are longer than a window",
        "calibration/standard_error.py",
        "min(over + _LONGER, n // _BLOCKS)",
        "1",
        ("tests/unit/calibration/test_standard_error.py",),
    ),
    Mutation(
        "two scales: windows are complete before they count",
        "calibration/direct.py",
        "if needed <= settling:",
        "if True:",
        ("tests/unit/calibration/test_recent_winners.py::test_history_is_read_as_far_back_as_can_be_read_at_once",),
    ),
    Mutation(
        "two scales: older tuples say nothing of the level after a change",
        "calibration/two_scales/estimator.py",
        "change = newest_change(",
        "change = 0 * newest_change(",
        (
            "tests/unit/calibration/test_recent_winners.py::test_k_follows_a_jump_as_soon_as_n_windows_after_it_are_complete",
        ),
    ),
    Mutation(
        "two scales: blocks are longer than a burst",
        "calibration/two_scales/estimator.py",
        "length = max(block_length(series),",
        "length = max(1,",
        ("tests/unit/calibration/test_recent_winners.py::test_bursts_leave_k_uncertain_and_the_estimate_says_so",),
    ),
    Mutation(
        "two scales: winners alone determine K where the model does not hold",
        "calibration/two_scales/estimator.py",
        "        if by_winners:",
        "        if False:",
        ("tests/unit/calibration/test_recent_winners.py::test_winners_that_are_the_latest_determine_k_alone",),
    ),
    Mutation(
        "two scales: few windows of winners are not enough history",
        "calibration/two_scales/estimator.py",
        "is_narrow=choice.is_narrow and choice.windows >= MANY",
        "is_narrow=True",
        ("tests/unit/calibration/test_recent_winners.py::test_winners_that_are_the_latest_determine_k_alone",),
    ),
    Mutation(
        "two scales: no more rows are read than can be read at once",
        "calibration/direct.py",
        "or self._is_readable(low):",
        "or True:",
        ("tests/unit/calibration/test_recent_winners.py::test_history_is_read_as_far_back_as_can_be_read_at_once",),
    ),
    Mutation(
        "direct calibration: aggregates after a change of the delays alone count",
        "calibration/two_scales/measured.py",
        "        if since is not None:",
        "        if False:",
        ("tests/unit/calibration/test_recent_losses.py::test_windows_before_a_change_of_the_delays_do_not_count",),
    ),
    Mutation(
        "direct calibration: losses of one tuple in many windows are one observation",
        "calibration/two_scales/measured_fit.py",
        "(sample.came - sample.ends[0])",
        "(sample.ends[sample.window] - sample.ends[0])",
        ("tests/unit/calibration/test_recent_losses.py::test_losses_of_a_tuple_in_many_windows_are_one_observation",),
    ),
    Mutation(
        "direct calibration: no longer wait than K loses too much",
        "calibration/two_scales/measured_fit.py",
        "int(np.argmax(exceeds))",
        "int(np.flatnonzero(exceeds)[-1])",
        (
            "tests/unit/calibration/test_recent_losses.py::test_k_is_the_wait_from_which_on_no_longer_one_loses_too_much",
        ),
    ),
    Mutation(
        "cost: the cheapest K keeps the accuracy",
        "calibration/cost.py",
        "np.append(self._late[self._late > least_ms], least_ms)",
        "np.append(self._late, 0)",
        ("tests/unit/calibration/test_cost.py::test_the_cheapest_wait_is_that_of_a_loop",),
    ),
    Mutation(
        "sessions: waits are not measured over them",
        "calibration/calibrate.py",
        "    require_lengths(query)\n",
        "",
        ("tests/unit/correction/test_sessions_in_tables.py",),
    ),
)
