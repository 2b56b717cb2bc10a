"""Guards of the room `panels`: answers."""

from __future__ import annotations

from guards.mutation import Mutation

LEDGER = "tests/unit/panels/test_ledger.py"
PLAIN = "tests/unit/panels/test_plain_values.py"
SERIES, RANGES = "tests/unit/panels/test_series.py", "tests/unit/panels/test_arrival_range.py"
PROMISE, LATE, HOLDING = (f"tests/unit/panels/test_{name}.py" for name in ("promise", "late", "holding"))
ANSWERS = "tests/unit/panels/test_answers.py"
IDS = ("tests/unit/panels/test_answer_ids.py",)
DAMAGED = "tests/unit/panels/test_damaged_tables.py"

MUTATIONS = (
    Mutation(
        "no share of the tuples is shown where late ones are not known",
        "panels/answers.py",
        "_NO_SHARE if lacking is None else right_share(",
        "right_share(",
        (f"{DAMAGED}::test_a_share_that_late_tuples_decide_is_not_known_without_them",),
    ),
    Mutation(
        "no coverage of an answer is shown where late tuples are not known",
        "panels/answers.py",
        "coverage[row] if knows_missing else None",
        "coverage[row]",
        (f"{DAMAGED}::test_a_share_that_late_tuples_decide_is_not_known_without_them",),
    ),
    Mutation(
        "a damaged table is no wrong range of answers",
        "panels/answers.py",
        "    except Damaged:\n        raise\n",
        "",
        (f"{DAMAGED}::test_what_a_damaged_table_does_not_touch_is_shown_as_it_was_and_the_rest_names_it",),
    ),
    Mutation(
        "times are no numbers of a chart",
        "panels/answer_chart.py",
        "[name for name in compared if name not in TIMES]",
        "list(compared)",
        (
            "tests/unit/cli/test_picture.py::"
            "test_answers_are_those_of_a_key_as_streamed_and_as_corrected_else_the_share_that_was_right",
        ),
    ),
    Mutation(
        "plain values: no NaN and no infinity",
        "panels/plain_values.py",
        "value if math.isfinite(value) else None",
        "value",
        (PLAIN,),
    ),
    Mutation(
        "plain values: integers that JavaScript would round are text",
        "panels/plain_values.py",
        "if abs(value) <= _LARGEST else str(value)",
        "",
        (PLAIN,),
    ),
    Mutation(
        "plain values: an id of megabytes is cut",
        "panels/plain_values.py",
        "return cut(str(value))",
        "return str(value)",
        (PLAIN,),
    ),
    Mutation(
        "promise: an answer that lacks a late tuple is not right",
        "panels/right_answers.py",
        "(is_right & is_whole).sum()",
        "is_right.sum()",
        (PROMISE,),
    ),
    Mutation(
        "promise: late tuples that a correction has taken in are no longer lacking",
        "panels/uncorrected_answers.py",
        "uncovered(corrected_intervals(tables), until)",
        "uncovered([], until)",
        (PROMISE,),
    ),
    Mutation(
        "promise: of too many late tuples the answers are not known",
        "panels/uncorrected_answers.py",
        "if rows > MOST_ROWS:",
        "if False:",
        (PROMISE,),
    ),
    Mutation(
        "promise: no more answers are compared than are read in time",
        "panels/right_answers.py",
        "np.searchsorted(np.cumsum(counts), MOST_ANSWERS",
        "np.searchsorted(np.cumsum(counts), counts.sum()",
        (PROMISE,),
    ),
    Mutation(
        "ids of answers: a long key by its digest",
        "panels/answer_ids.py",
        "isinstance(value, str) and len(value) > _LONGEST",
        "False",
        IDS,
    ),
    Mutation(
        "ids of answers: no half characters",
        "panels/answer_ids.py",
        "json.dumps(values, ensure_ascii=False).encode()",
        "pass",
        (f"{IDS[0]}::test_an_id_with_half_a_character_is_refused",),
    ),
    Mutation(
        "answers: no place so far down the list that every file is read",
        "panels/newest_answers.py",
        "if cursor.skipped > MOST_SKIPPED:",
        "if False:",
        (f"{ANSWERS}::test_a_place_a_range_and_a_key_that_are_none_are_refused",),
    ),
    Mutation(
        "ids of answers: times within the calendar",
        "panels/answer_ids.py",
        "return low <= value <= high",
        "return True",
        IDS,
    ),
    Mutation(
        "answers: a pair that a repeat brought again stands once, at its newest",
        "panels/answers.py",
        "newest <= answers[HORIZON].to_numpy()",
        "newest <= newest",
        (f"{ANSWERS}::test_answers_come_newest_first_page_by_page_and_each_once[emd_join]",),
    ),
    Mutation(
        "answers: a place in the list does not depend on where the list begins",
        "panels/newest_answers.py",
        "[*model.identity.determining, HORIZON]",
        "[*model.identity.determining]",
        (f"{ANSWERS}::test_answers_come_newest_first_page_by_page_and_each_once[emd_join]",),
    ),
    Mutation(
        "answers: older files are not read",
        "panels/newest_answers.py",
        "low = max(min(files[index].high, high) if index < len(files) else BEFORE_ALL, floor)",
        "low = floor",
        (f"{ANSWERS}::test_no_file_of_older_answers_is_read",),
    ),
    Mutation(
        "answers: there are more where not all files were read",
        "panels/answers.py",
        "next=None if is_all and until == answers.num_rows else",
        "next=None if until == answers.num_rows else",
        (f"{ANSWERS}::test_what_lies_beyond_those_looked_at_is_said_and_follows",),
    ),
    Mutation(
        "right: what lacks late tuples is not known to be",
        "panels/right_share.py",
        " & (missing[position] == 0)",
        "",
        (
            f"{ANSWERS}::test_the_share_that_was_right_is_that_of_the_answers_in_force_that_no_correction_changes[windows]",
        ),
    ),
    Mutation(
        "having: lists leave out answers that the stream withheld",
        "panels/newest_answers.py",
        'if name == "results" and RETRACTED in view.tables.schema(name).names:',
        "if False:",
        ("tests/unit/aggregate/test_having.py::test_a_stream_counts_and_shows_the_answers_that_it_gives[added to]",),
    ),
    Mutation(
        "having: an answer that was withheld and never given has no page",
        "panels/answer.py",
        "if not without_retracted(versions).num_rows:",
        "if False:",
        (
            "tests/unit/aggregate/test_having.py"
            "::test_an_answer_that_came_or_went_is_wrong_as_streamed_and_one_that_was_withheld_twice_does_not_count",
        ),
    ),
    Mutation(
        "right share: a late tuple deep within a long session",
        "panels/uncorrected_answers.py",
        'pc.min(latest["window_start"]).as_py() or low',
        "low",
        ("tests/unit/panels/test_right_sessions.py",),
    ),
    Mutation(
        "answer: a late tuple that a session holds is on its page",
        "panels/late_tuples.py",
        "if not isinstance(model, BySession):",
        "if True:",
        ("tests/unit/panels/test_answer_of_sessions.py",),
    ),
    Mutation(
        "answer: a late tuple before a session is looked for",
        "panels/late_tuples.py",
        "min(times) - margin_ms",
        "min(times)",
        ("tests/unit/panels/test_answer_of_sessions.py",),
    ),
    Mutation(
        "answer: the session in whose place another one stands",
        "panels/answer_summary.py",
        "if now.num_rows:",
        "if False:",
        ("tests/unit/panels/test_answer_of_sessions.py",),
    ),
)
