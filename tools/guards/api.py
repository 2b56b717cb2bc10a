"""Guards of the room `api`."""

from __future__ import annotations

from guards.mutation import Mutation

PICTURE = "tests/unit/cli/test_picture.py"
QUERIES = "tests/unit/api/test_queries.py"
CHOSEN = "tests/unit/api/test_chosen.py"
FORMS = "tests/unit/api/test_forms.py"

MUTATIONS = (
    Mutation(
        "a query that never ran is not drawn",
        "api/picture_file.py",
        "    require_begun(view.tables, query)\n",
        "",
        (f"{PICTURE}::test_the_command_refuses_what_it_can_not_draw",),
    ),
    Mutation(
        "names in a picture are no formulas",
        "api/picture.py",
        'rc_context({"text.parse_math": False})',
        "rc_context({})",
        (f"{PICTURE}::test_hostile_names_are_drawn_as_text",),
    ),
    Mutation(
        "api: a text in a notebook is escaped",
        "api/html.py",
        "return escape(text if len(text)",
        "return (text if len(text)",
        (f"{FORMS}::test_a_notebook_shows_no_text_unescaped",),
    ),
    Mutation(
        "api: a misspelt column is said before the change of the query",
        "api/changed_query.py",
        "        _require_columns(query)\n",
        "",
        ("tests/unit/cli/test_way_on.py::test_a_misspelt_column_is_said_before_the_change_of_the_query",),
    ),
    Mutation(
        "api: a source that is gone hides no change of the query",
        "api/changed_query.py",
        "except (Refused, OSError):",
        "except ZeroDivisionError:",
        ("tests/unit/cli/test_way_on.py::test_a_source_that_is_gone_hides_no_change",),
    ),
    Mutation(
        "api: a wrong text makes a column of texts, not a refused frame",
        "api/in_memory.py",
        "        if (texts := _texts_of(values)) is None:\n",
        "        if True:\n",
        ("tests/unit/api/test_wrong_texts.py::test_a_wrong_text_costs_its_record_alone",),
    ),
    Mutation(
        "api: a run that accepts nothing is no success",
        "api/run.py",
        "if self.summary.failed:",
        "if False:",
        (f"{QUERIES}::test_a_run_that_accepts_nothing_has_failed_with_its_reasons",),
    ),
    Mutation(
        "api: the same rows in memory are stored once",
        "api/stored_rows.py",
        "if any(digest in file for file in stored):",
        "if False:",
        (f"{QUERIES}::test_rows_in_memory_leave_nothing_behind_and_are_kept_in_a_warehouse_that_is_named",),
    ),
    Mutation(
        "api: an exception in a notebook sends no command to a terminal",
        "api/failed.py",
        "*map(printable, str(self).splitlines())",
        "*str(self).splitlines()",
        (f"{FORMS}::test_a_failed_run_in_a_notebook_sends_no_command_to_a_terminal",),
    ),
    Mutation(
        "api: a query over rows in memory leaves its warehouse alone",
        "api/query.py",
        ", place=None, scratch=Scratch())",
        ")",
        (f"{QUERIES}::test_a_query_over_rows_in_memory_leaves_its_warehouse_alone_and_sends_its_answers_nowhere",),
    ),
    Mutation(
        "api: a query over rows in memory sends its answers nowhere",
        "api/stream.py",
        ', "answers": AnswersSection()}',
        "}",
        (f"{QUERIES}::test_a_query_over_rows_in_memory_leaves_its_warehouse_alone_and_sends_its_answers_nowhere",),
    ),
    Mutation(
        "api: rows of a run that is refused are not read by the next one",
        "api/stored_rows.py",
        "                _remove(file)\n",
        "                pass\n",
        (f"{QUERIES}::test_rows_of_a_run_that_is_refused_are_not_stored",),
    ),
    Mutation(
        "engine spark without PySpark is refused before anything is imported",
        "api/engines.py",
        '    require_extra("--engine spark", "spark", instead="--engine local, which needs neither Spark nor Java")\n',
        "",
        ("tests/unit/cli/test_core_alone.py",),
    ),
    Mutation(
        "run: a source that has changed since is no failure of a run that has written its answers",
        "api/run.py",
        "except (SourceChanged, OSError) as error:",
        "except ZeroDivisionError as error:",
        (
            "tests/unit/cli/test_outlying_times.py"
            "::test_a_file_that_was_removed_since_is_a_warning_as_the_answers_are_written",
        ),
    ),
    Mutation(
        "an answer for which --where fails is refused, and not left out in silence",
        "api/chosen.py",
        "    if computed.failures:\n",
        "    if False:\n",
        (CHOSEN,),
    ),
    Mutation(
        "answers are ordered with nulls as in Spark",
        "api/chosen.py",
        'nulls == "FIRST" if nulls else not descends)',
        'nulls == "FIRST" if nulls else False)',
        (CHOSEN,),
    ),
)
