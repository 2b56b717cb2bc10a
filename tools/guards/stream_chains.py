"""Guards of the room `stream`: chains, in which the answers of a query are the stream of another one."""

from __future__ import annotations

from guards.mutation import Mutation

ANSWER_LOG = "tests/unit/delivery/test_answer_log.py"
AWAITED = "tests/unit/cli/test_awaited_answers.py"

MUTATIONS = (
    Mutation(
        "chains: a live query waits until its upstream has begun",
        "stream/upstream_answers.py",
        "if opening.live and reader.manifest() is None and",
        "if False and",
        (f"{AWAITED}::test_a_live_run_says_that_it_waits_and_reads_on_once_its_upstream_has_begun",),
    ),
    Mutation(
        "chains: a bounded run waits for no upstream",
        "stream/upstream_answers.py",
        "if opening.live and reader.manifest() is None and",
        "if reader.manifest() is None and",
        (f"{ANSWER_LOG}::test_an_upstream_query_without_answers_is_refused",),
    ),
    Mutation(
        "chains: a live query that waits ends once its upstream is not fit",
        "stream/upstream_answers.py",
        "with as_unfit():  # no other answer of that query will fit",
        "if True:",
        (f"{ANSWER_LOG}::test_a_live_query_that_waits_ends_once_the_answers_of_its_upstream_are_no_stream",),
    ),
    Mutation(
        "chains: silence between two answers closes no live stream",
        "stream/upstream_answers.py",
        "if idle_s <= parse_duration(longest).total_seconds():",
        "if False:",
        (f"{ANSWER_LOG}::test_a_live_stream_that_the_silence_between_two_answers_closes_is_refused",),
    ),
    Mutation(
        "chains: the silence between two answers of a calendar is that of its longest window",
        "stream/upstream_answers.py",
        "longest = format_duration(windows.pane_ms)",
        "longest = slide",
        (f"{ANSWER_LOG}::test_the_silence_between_two_answers_of_a_calendar_is_that_of_its_longest_window",),
    ),
    Mutation(
        "chains: a first run that was refused leaves no log to the next one",
        "stream/upstream_answers.py",
        "        _remove(path)  # of a refused run",
        "        pass  # of a run that was refused",
        (f"{ANSWER_LOG}::test_a_run_that_is_refused_leaves_nothing_to_the_next_one",),
    ),
    Mutation(
        "chains: a first run that is refused writes no log",
        "stream/upstream_answers.py",
        "    _require_fixed(upstream, structure, opening.columns)\n",
        "",
        (f"{ANSWER_LOG}::test_a_run_that_is_refused_leaves_nothing_to_the_next_one",),
    ),
    Mutation(
        "chains: a rebuild keeps the log",
        "stream/planned_rebuild.py",
        " and path.name != UPSTREAM",
        "",
        (f"{ANSWER_LOG}::test_a_rebuild_keeps_the_log",),
    ),
    Mutation(
        "chains: a rebuild reads a new column from the log",
        "stream/restated_journal.py",
        "if isinstance(query.streams[name].source, AnswersSource)",
        "if False",
        (f"{ANSWER_LOG}::test_a_rebuild_keeps_the_log",),
    ),
    Mutation(
        "sessions: no query reads them as its stream",
        "stream/upstream_answers.py",
        'structure.get("window.session") is not None',
        "False",
        ("tests/unit/correction/test_sessions_in_tables.py",),
    ),
)
