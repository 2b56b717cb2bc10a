"""Guards of the room `orchestration`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import EDITS

WATCH = "tests/orchestration/test_stream_operators.py"
WARNINGS = "tests/orchestration/test_driver_warnings.py"

MUTATIONS = (
    Mutation(
        "supervision: a hang of a clock that was ahead does not count",
        "orchestration/stream_operators.py",
        "if now_s - options.within_s < at <= now_s)",
        "if now_s - options.within_s < at)",
        ("tests/orchestration/test_stream_operators.py",),
    ),
    Mutation(
        "deployment: the query fits its checkpoint",
        "orchestration/submit.py",
        "layout.require_deployable(query.query, query.file)",
        "pass",
        ("tests/orchestration/test_stream_operators.py",),
    ),
    Mutation(
        "lineage: rows of a correction that has not ended",
        "orchestration/lineage.py",
        "any(ms >= since.timestamp() * 1000 for ms in",
        "any(True for ms in",
        ("tests/orchestration/test_lineage.py::test_a_correction_tells_its_rows_once_it_has_come_to_its_end",),
    ),
    Mutation(
        "a thing that is wrong is warned of once",
        "orchestration/conditions.py",
        "for name, text in found.items() if name not in self._texts]",
        "for name, text in found.items()]",
        (WARNINGS,),
    ),
    Mutation(
        "what can't be looked for is not said to be over",
        "orchestration/conditions.py",
        "if may_end and name not in found}",
        "if name not in found}",
        (f"{WARNINGS}::test_a_driver_that_dies_or_starts_again_ends_no_problem",),
    ),
    Mutation(
        "a stream of which no record is accepted is said to be one",
        "orchestration/driver_warnings.py",
        "if accepted > 0:",
        "if True:",
        (f"{WARNINGS}::test_where_no_record_is_accepted_the_warning_says_so_and_what_becomes_of_the_stream",),
    ),
    Mutation(
        "a broken promise is warned of",
        "orchestration/driver_warnings.py",
        'if promise.state == "broken" else {}',
        "if False else {}",
        (f"{WARNINGS}::test_a_broken_promise_is_warned_of_once_and_reported_when_it_is_kept_again",),
    ),
    Mutation(
        "a driver is silent by the caller's clock",
        "orchestration/stalls.py",
        "if report != self._report:",
        "if self._report is None:",
        ("tests/orchestration/test_stalls.py",),
    ),
    Mutation(
        "a frontier that stands while nothing comes is no stall",
        "orchestration/stalls.py",
        "still_s >= STILL_S and now_s - self._rows_s < _RECENT_S",
        "still_s >= STILL_S",
        ("tests/orchestration/test_stalls.py",),
    ),
    Mutation(
        "a failed task says the problem that its driver reported",
        "orchestration/explanations.py",
        "if status is None or status.problem is None:",
        "if True:",
        (f"{WATCH}::test_a_task_whose_driver_has_given_up_fails_with_the_problem_that_it_reported",),
    ),
    Mutation(
        "a second run is skipped",
        "orchestration/watch_claim.py",
        "if run in states and states[run].get(_TASK) not in OVER:",
        "if False:",
        (f"{WATCH}::test_a_second_run_is_skipped_and_names_the_one_that_watches",),
    ),
    Mutation(
        "a second run is skipped before it is refused",
        "orchestration/stream_operators.py",
        "leave_to_watcher(layout, context, self.log.warning)  # first, so that no refusal fails a second run",
        "pass  # first",
        (f"{WATCH}::test_a_second_run_that_would_be_refused_is_skipped_too",),
    ),
    Mutation(
        "a run follows one that was deleted",
        "orchestration/watch_claim.py",
        "if run in states and states[run].get(_TASK) not in OVER:",
        "if states.get(run, {}).get(_TASK) not in OVER:",
        (f"{WATCH}::test_a_run_follows_one_that_is_over_or_deleted",),
    ),
    Mutation(
        "the end of a skipped run drains nothing",
        "orchestration/drain_operator.py",
        'not in ("", ti.run_id):',
        'not in ("", ti.run_id, watcher):',
        (f"{WATCH}::test_the_end_of_a_skipped_run_drains_nothing",),
    ),
    Mutation(
        "a hung driver's replacement takes up no edit",
        "orchestration/stream_operators.py",
        "if on_record is None:",
        "if True:",
        (f"{WATCH}::test_the_driver_that_replaces_a_hung_one_takes_up_no_edit",),
    ),
    Mutation(
        "a living driver's copy stays on record",
        "orchestration/driver_lifecycle.py",
        "    if driver.alive:\n        return Deployed(",
        "    if driver.alive:\n        query and query.write(layout)\n        return Deployed(",
        (f"{EDITS}::test_a_living_driver_keeps_its_copy_and_a_deployment_says_what_differs",),
    ),
    Mutation(
        "the log of the embedded Airflow rotates",
        "orchestration/airflow_parts.py",
        "            rotation.run_if_due()\n",
        "",
        ("tests/orchestration/test_log_rotation.py",),
    ),
    Mutation(
        "a command is tried again while SQLite is locked",
        "orchestration/airflow_command.py",
        "if not process.returncode or not is_transient",
        "if True or not is_transient",
        ("tests/orchestration/test_embedded_airflow.py",),
    ),
    Mutation(
        "the claim in a copy of a warehouse is the original's",
        "orchestration/watch_claim.py",
        "return run if resolved(home) == resolved(layout.home) else",
        "return run if True else",
        (f"{WATCH}::test_the_claim_in_a_copy_of_a_warehouse_is_the_originals",),
    ),
    Mutation(
        "cluster mode: no setting hides a driver",
        "orchestration/spark_connection.py",
        "if name in _OURS:",
        "if False:",
        ("tests/orchestration/test_cluster_command.py",),
    ),
    Mutation(
        "cluster mode: no secret on a command line",
        "orchestration/spark_connection.py",
        "if _SECRET.search(name) and _REFERENCE not in name:",
        "if False:",
        ("tests/orchestration/test_cluster_command.py",),
    ),
    Mutation(
        "warehouse away: no deployment in it",
        "orchestration/driver_lifecycle.py",
        "    return not deployment(layout) and deployed_program(host, layout.home) is not None\n",
        "    return False\n",
        ("tests/orchestration/test_driver_lifecycle.py",),
    ),
    Mutation(
        "check looks at the columns and types of a new stream's source",
        "orchestration/stream_operators.py",
        "check_sources(query, Path(self.file), self.log)",
        "pass",
        ("tests/orchestration/test_stream_operators.py",),
    ),
    Mutation(
        "query files that share a name are refused",
        "orchestration/settings.py",
        "for sharing in by_name.values() if len(sharing) == 1]",
        "for sharing in by_name.values()]",
        ("tests/orchestration/test_overview.py",),
    ),
    Mutation(
        "a driver host with pages: the test of its connection",
        "orchestration/driver_host_hook.py",
        "        if has_pages:\n",
        "        if False:\n",
        ("tests/orchestration/test_provider.py",),
    ),
    Mutation(
        "an alert: a connection that is not meant for alerts",
        "orchestration/notifiers.py",
        'if str(connection.extra_dejson.get(MARK)).lower() != "true":',
        "if False:",
        ("tests/orchestration/test_alerts.py",),
    ),
)
