"""Guards of the room `console`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import CONSOLE_ROUTES

AIRFLOW_DAGS = "tests/orchestration/test_airflow_dags.py"
DRY_RUNS = "tests/orchestration/test_console_dry_runs.py"
RUNS = "tests/orchestration/test_console_last_runs.py"

MUTATIONS = (
    Mutation(
        "a driver's log: only for who may read the logs of its DAG",
        "console/driver_log.py",
        '@router.get("/driver_log/{dag_id}", dependencies=[Depends(_may_read_logs)])',
        '@router.get("/driver_log/{dag_id}")',
        ("tests/orchestration/test_driver_log.py",),
    ),
    Mutation(
        "console: a query's page needs the right to its DAG",
        "console/rights.py",
        'if not may(user, "GET", DAG_PREFIX + name):',
        "if False:",
        (f"{CONSOLE_ROUTES}::test_a_query_that_the_user_may_not_read_is_not_there",),
    ),
    Mutation(
        "console: raw records need the right to read task logs",
        "console/panel_routes.py",
        "_right = require_records if _panel.shows_records else require_page",
        "_right = require_page",
        (f"{CONSOLE_ROUTES}::test_raw_records_need_the_right_to_read_task_logs",),
    ),
    Mutation(
        "console: Streams has the queries that the user may read",
        "console/rights.py",
        "return [dags[dag] for dag in readable_dags(dags, user)]",
        "return list(dags.values())",
        (f"{CONSOLE_ROUTES}::test_a_query_that_the_user_may_not_read_is_not_there",),
    ),
    Mutation(
        "console: every answer has the policy of contents",
        "console/app.py",
        "response.headers.setdefault(name, value)",
        "pass",
        (f"{CONSOLE_ROUTES}::test_every_answer_lets_the_browser_run_our_scripts_alone",),
    ),
    Mutation(
        "console: static files lie below their directory",
        "console/pages.py",
        "file.is_relative_to(_STATIC) and ",
        "",
        (f"{CONSOLE_ROUTES}::test_a_file_beside_the_static_ones_is_none_of_them",),
    ),
    Mutation(
        "console: a page leads to the log-in",
        "console/failures.py",
        'and "text/html" in request.headers.get("accept", "")',
        "and False",
        (f"{CONSOLE_ROUTES}::test_who_is_not_logged_in_is_led_to_the_log_in_by_pages_alone",),
    ),
    Mutation(
        "console: a watch that is over is none to drain",
        "console/actions_route.py",
        'task_state(f"stream_{view.name}", run, "supervise") not in (None, *OVER)',
        "True",
        (f"{CONSOLE_ROUTES}::test_a_watch_that_is_over_is_none_to_drain",),
    ),
    Mutation(
        "console: a run of another interval made none of the ledger's",
        "console/ledger_links.py",
        "[each for each in fitting if each.data_from is None]",
        "fitting",
        ("tests/orchestration/test_console_ledger.py",),
    ),
    Mutation(
        "console: a DAG that Airflow does not read any more can't run",
        "console/actions_route.py",
        "if dag_id not in self.known:",
        "if False:",
        (f"{CONSOLE_ROUTES}::test_a_dag_that_airflow_has_not_read_can_not_run",),
    ),
    Mutation(
        "console: a stale DAG is none that Airflow reads",
        "console/airflow_dags.py",
        ", DagModel.is_stale.is_(False))",
        ")",
        (f"{AIRFLOW_DAGS}::test_the_dags_that_airflow_reads_are_known_by_one_statement",),
    ),
    Mutation(
        "console: without a valid file only what needs none can be done",
        "console/actions_route.py",
        "if self.fault is not None:",
        "if False:",
        (f"{CONSOLE_ROUTES}::test_without_a_valid_file_only_what_needs_none_can_be_done",),
    ),
    Mutation(
        "console: the head leads to DAGs that Airflow reads",
        "console/streams_route.py",
        'f"{kind}_{name}" in dags else None',
        "True else None",
        (f"{CONSOLE_ROUTES}::test_the_head_leads_to_no_dag_that_airflow_does_not_read",),
    ),
    Mutation(
        "console: a paused correction is a warning while late tuples wait for one",
        "console/airflow_dags.py",
        "    if uncorrected:",
        "    if False:",
        (f"{CONSOLE_ROUTES}::test_a_paused_correction_is_a_warning_while_late_tuples_wait_for_one",),
    ),
    Mutation(
        "console: a stream with a paused DAG that holds something up needs attention",
        "console/stream_order.py",
        "row.is_unreadable or row.paused or any",
        "row.is_unreadable or any",
        (f"{CONSOLE_ROUTES}::test_a_paused_dag_whose_run_never_begins_is_a_warning",),
    ),
    Mutation(
        "console: a dry run needs the right to read XComs",
        "console/dry_runs.py",
        'if not rights.may(user, "GET", dag_id, DagAccessEntity.XCOM):',
        "if False:",
        (f"{DRY_RUNS}::test_who_may_not_read_xcoms_sees_no_dry_run",),
    ),
    Mutation(
        "console: the K of a dry run that does not fit is not offered",
        "console/actions_route.py",
        "if newest is not None and newest.report is not None and newest.why_not is None:",
        "if newest is not None and newest.report is not None:",
        (f"{DRY_RUNS}::test_another_version_of_the_settings_takes_the_offer_away",),
    ),
    Mutation(
        "console: beside a watch a rebuild is a dry run alone",
        "console/actions_route.py",
        "[] if is_watched else [field],",
        "[field],",
        (
            f"{CONSOLE_ROUTES}::test_a_rebuild_is_a_dry_run_unless_the_form_says_otherwise_and_nothing_else_beside_a_watch",
        ),
    ),
    Mutation(
        "console: a rebuild in an object store is not offered",
        "console/actions_route.py",
        "if view.layout.is_remote:",
        "if False:",
        (f"{CONSOLE_ROUTES}::test_a_rebuild_of_a_warehouse_in_an_object_store_is_not_offered",),
    ),
    Mutation(
        "console: a DAG without a schedule is not said to have one",
        "console/actions_route.py",
        "self.known[dag_id].is_scheduled else",
        "True else",
        (f"{CONSOLE_ROUTES}::test_a_paused_dag_without_a_schedule_is_not_said_to_have_one",),
    ),
    Mutation(
        "console: to unpause a DAG takes the right to edit it",
        "console/actions_route.py",
        'if self.known[dag_id].is_paused and not self._may("PUT", dag_id):',
        "if False:",
        (f"{CONSOLE_ROUTES}::test_a_paused_dag_needs_the_right_to_unpause_it",),
    ),
    Mutation(
        "console: a drain needs a run that watches",
        "console/actions_route.py",
        "is_allowed=is_allowed and why_not is None,",
        "is_allowed=is_allowed,",
        (f"{CONSOLE_ROUTES}::test_actions_are_requests_to_airflows_own_api",),
    ),
    Mutation(
        "console: a file that the browser has is not sent again, and a changed one is",
        "console/pages.py",
        'if request.headers.get("If-None-Match") == tag:',
        'if "If-None-Match" in request.headers:',
        (f"{CONSOLE_ROUTES}::test_a_file_that_the_browser_has_is_not_sent_again_until_it_changes",),
    ),
    Mutation(
        "console: the reason of a failed run is for those who may read its log",
        "console/last_runs.py",
        "if may_read_log else",
        "if True else",
        (f"{RUNS}::test_a_reason_is_for_those_who_may_read_the_tasks_log",),
    ),
    Mutation(
        "console: the log of a run has a right of its own",
        "console/rights.py",
        'method="GET", access_entity=entity,',
        'method="GET", access_entity=None,',
        (
            f"{CONSOLE_ROUTES}::test_a_failed_correction_needs_attention_and_hides_its_reason_from_those_who_read_no_logs",
        ),
    ),
    Mutation(
        "console: the newest run is the one that ended last",
        "console/last_runs.py",
        "later.end_date > newest.c.ended",
        "later.run_id != ''",
        (f"{RUNS}::test_a_later_success_ends_a_failure",),
    ),
    Mutation(
        "console: a DAG that Airflow does not read any more has no last run",
        "console/last_runs.py",
        "~DagModel.is_stale",
        "True",
        (f"{RUNS}::test_a_dag_that_airflow_does_not_read_any_more_has_no_last_run",),
    ),
    Mutation(
        "console: a task that was killed is not said to have a reason",
        "console/last_runs.py",
        "if row.value is None:",
        "if False:",
        (f"{RUNS}::test_a_task_that_was_killed_left_no_reason_and_that_is_said",),
    ),
)
