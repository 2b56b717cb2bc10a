"""Guards of the room `console`."""

from __future__ import annotations

from guards.mutation import Mutation

ROUTES = "tests/orchestration/test_console_routes.py"
CACHE = "tests/orchestration/test_console_cache.py"
FACTS = "tests/orchestration/test_console_facts.py"
STATE = "tests/orchestration/test_console_state.py"

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
        (f"{ROUTES}::test_a_query_that_the_user_may_not_read_is_not_there",),
    ),
    Mutation(
        "console: Streams has the queries that the user may read",
        "console/rights.py",
        'if manager.is_authorized_dag(method="GET", details=DagDetails(id=dag, team_name=teams.get(dag)), user=user)',
        "if True",
        (f"{ROUTES}::test_a_query_that_the_user_may_not_read_is_not_there",),
    ),
    Mutation(
        "console: problems of files are for those who may list DAGs",
        "console/streams_route.py",
        "known.problems if may_list(user) else []",
        "known.problems",
        (f"{ROUTES}::test_what_is_wrong_with_files_is_for_those_who_may_list_dags",),
    ),
    Mutation(
        "console: every answer has the policy of contents",
        "console/app.py",
        "response.headers.setdefault(name, value)",
        "pass",
        (f"{ROUTES}::test_every_answer_lets_the_browser_run_our_scripts_alone",),
    ),
    Mutation(
        "console: static files lie below their directory",
        "console/pages.py",
        "file.is_relative_to(_STATIC) and ",
        "",
        (f"{ROUTES}::test_a_file_beside_the_static_ones_is_none_of_them",),
    ),
    Mutation(
        "console: a page leads to the log-in",
        "console/failures.py",
        'and "text/html" in request.headers.get("accept", "")',
        "and False",
        (f"{ROUTES}::test_who_is_not_logged_in_is_led_to_the_log_in_by_pages_alone",),
    ),
    Mutation(
        "console: a kept answer has the current versions",
        "console/panel_cache.py",
        "if key in self._answers and self._answers[key][0] == now:",
        "if key in self._answers:",
        (f"{CACHE}::test_an_answer_is_read_again_when_a_version_has_changed",),
    ),
    Mutation(
        "console: kept answers take bounded memory",
        "console/panel_cache.py",
        "while self._bytes > self._most_bytes:",
        "while False:",
        (f"{CACHE}::test_the_oldest_answers_go_where_there_is_no_room",),
    ),
    Mutation(
        "console: a read that a compaction has overtaken is tried again",
        "console/panel_cache.py",
        "if before == now:",
        "if True:",
        (f"{CACHE}::test_a_read_that_a_compaction_has_overtaken_is_tried_again",),
    ),
    Mutation(
        "console: a query file that changes makes a kept answer old",
        "console/panel_cache.py",
        "None if query is None else _stamp(query)",
        "None",
        (f"{CACHE}::test_a_version_changes_with_a_table_a_file_and_the_query_file",),
    ),
    Mutation(
        "console: one reading of a query's tables at a time",
        "console/table_facts.py",
        "if is_old and (kept.reading is None or kept.reading.done()):",
        "if is_old:",
        (f"{FACTS}::test_old_facts_are_given_at_once_and_read_again_beside",),
    ),
    Mutation(
        "console: facts of a bounded number of queries are kept",
        "console/table_facts.py",
        "if len(self._kept) > _MOST_QUERIES:",
        "if False:",
        (f"{FACTS}::test_the_number_of_queries_is_bounded",),
    ),
    Mutation(
        "console: late tuples of the last hour",
        "console/table_facts.py",
        'tables.read("late", ["tuples"], within("arrived", since_ms, AFTER_ALL))',
        'tables.read("late", ["tuples"])',
        (f"{FACTS}::test_the_last_hour_alone_counts",),
    ),
    Mutation(
        "console: a driver that is silent hangs",
        "console/stream_state.py",
        "if (status.silent_ms or 0) >= _SILENT_MS:",
        "if False:",
        (STATE,),
    ),
    Mutation(
        "console: a batch that does not end hangs",
        "console/stream_state.py",
        "if busy_ms >= max(_SILENT_MS, _SLOWER * reported.batch_ms):",
        "if False:",
        (STATE,),
    ),
    Mutation(
        "console: a stream that rejects every record is broken",
        "console/stream_state.py",
        "if reported.quarantined and not reported.rows:",
        "if False:",
        (STATE,),
    ),
    Mutation(
        "console: a problem is no wait",
        "console/stream_state.py",
        'if reported.is_awaiting else ("broken", "bad")',
        'if True else ("broken", "bad")',
        (STATE,),
    ),
    Mutation(
        "console: a DAG that Airflow does not read any more can't run",
        "console/actions_route.py",
        "if dag is None or dag.is_stale:",
        "if dag is None:",
        (f"{ROUTES}::test_a_dag_that_airflow_has_not_read_can_not_run",),
    ),
    Mutation(
        "console: to unpause a DAG takes the right to edit it",
        "console/actions_route.py",
        'elif dag.is_paused and not self._may("PUT", None):',
        "elif False:",
        (f"{ROUTES}::test_a_paused_dag_needs_the_right_to_unpause_it",),
    ),
    Mutation(
        "console: a drain needs a run that watches",
        "console/actions_route.py",
        "is_allowed=is_allowed and why_not is None,",
        "is_allowed=is_allowed,",
        (f"{ROUTES}::test_actions_are_requests_to_airflows_own_api",),
    ),
)
