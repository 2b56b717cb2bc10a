"""Guards of the room `panels`."""

from __future__ import annotations

from guards.mutation import Mutation

ANSWER = "tests/unit/panels/test_answer.py"
ANSWERS = "tests/unit/panels/test_answers.py"
CELLS = ("tests/unit/panels/test_cells.py",)
IDS = ("tests/unit/panels/test_answer_ids.py",)
QUARANTINE = "tests/unit/panels/test_quarantine.py"

MUTATIONS = (
    Mutation(
        "cells: an integer that JavaScript rounds is a text",
        "panels/cells.py",
        "_EXACT = 1 << 53",
        "_EXACT = 1 << 63",
        CELLS,
    ),
    Mutation(
        "cells: no NaN and no infinity in JSON",
        "panels/cells.py",
        "None if value is None or not math.isfinite(value) else value",
        "value",
        CELLS,
    ),
    Mutation(
        "cells: a long text is cut, with a mark",
        "panels/cells.py",
        "return text if length <= LONGEST else",
        "return text if True else",
        CELLS,
    ),
    Mutation(
        "ids of answers: a long key by its digest",
        "panels/answer_ids.py",
        "isinstance(value, str) and len(value) > _LONGEST",
        "False",
        IDS,
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
        "newest <= found[HORIZON].to_numpy()",
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
        "answers: ids are not looked for in the log of files that workers wrote",
        "panels/answer_versions.py",
        "view.tables.batches(name, schema.names, where)",
        'view.tables.batches(name, schema.names, __import__("pyarrow.dataset").dataset.field(column).isin(names))',
        (f"{ANSWERS}::test_answers_come_newest_first_page_by_page_and_each_once[table]",),
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
        "next=None if is_all and until == found.num_rows else",
        "next=None if until == found.num_rows else",
        (f"{ANSWERS}::test_what_lies_beyond_those_looked_at_is_said_and_follows",),
    ),
    Mutation(
        "right: what lacks late tuples is not known to be",
        "panels/right_share.py",
        " & (missing[place] == 0)",
        "",
        (
            f"{ANSWERS}::test_the_share_that_was_right_is_that_of_the_answers_in_force_that_no_correction_changes[windows]",
        ),
    ),
    Mutation(
        "one answer: a source file that is gone leaves its versions",
        "panels/late_tuples.py",
        "except SourceChanged as changed:",
        "except ZeroDivisionError as changed:",
        (f"{ANSWER}::test_a_source_file_that_is_gone_leaves_the_versions",),
    ),
    Mutation(
        "one answer: history is not read without end",
        "panels/late_tuples.py",
        "> _MOST_ROWS:",
        "> AFTER_ALL:",
        (f"{ANSWER}::test_history_that_would_take_long_is_not_read",),
    ),
    Mutation(
        "one answer: the segments of its late tuples alone",
        "panels/late_tuples.py",
        "log.segments[overlap(before, np.append(before[1:], AFTER_ALL), ticks, ticks)]",
        "log.segments",
        (f"{ANSWER}::test_no_segment_is_read_in_whose_ticks_no_late_tuple_came",),
    ),
    Mutation(
        "quarantine: reasons without end are counted together",
        "panels/rejected_records.py",
        "len(self.named) < _MOST_REASONS",
        "True",
        (f"{QUARANTINE}::test_reasons_without_end_are_counted_together",),
    ),
    Mutation(
        "quarantine: a long table is not read in whole",
        "panels/rejected_records.py",
        "            if left <= 0:\n                return\n",
        "",
        (f"{QUARANTINE}::test_reasons_without_end_are_counted_together",),
    ),
)
