"""Guards of the room `panels`."""

from __future__ import annotations

from guards.mutation import Mutation

SERIES, RANGES = "tests/unit/panels/test_series.py", "tests/unit/panels/test_arrival_range.py"
FRONTIER, CHANGES = "tests/unit/panels/test_frontier.py", "tests/unit/panels/test_settings_changes.py"
PROMISE, LATE, HOLDING = (f"tests/unit/panels/test_{name}.py" for name in ("promise", "late", "holding"))

MUTATIONS = (
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
        "series: values that are no finite numbers are unknown",
        "panels/series.py",
        "if not pa.types.is_floating(values.type):",
        "if True:",
        (SERIES,),
    ),
    Mutation(
        "series: no more points than a chart has room for",
        "panels/series.py",
        "if pc.count_distinct(times).as_py() > points:",
        "if False:",
        (SERIES,),
    ),
    Mutation(
        "series: buckets stay as time goes on",
        "panels/series.py",
        "if length >= least:",
        "if (length := max(least, 1)):",
        (SERIES,),
    ),
    Mutation(
        "panels: a range ends after its beginning",
        "panels/arrival_range.py",
        "self.from_ >= self.to:",
        "False:",
        (FRONTIER,),
    ),
    Mutation(
        "panels: columns that an earlier release lacked are null",
        "panels/arrival_range.py",
        "[name for name in columns if name in there]",
        "list(columns)",
        (RANGES,),
    ),
    Mutation(
        "frontier: history that is damaged is said to be",
        "panels/frontier.py",
        "    except Damaged:\n        raise\n",
        "",
        (FRONTIER,),
    ),
    Mutation(
        "frontier: a quiet time is no change of K",
        "panels/settings_changes.py",
        'is_new = not changes or changes[-1].version != row["version"]',
        "is_new = True",
        (CHANGES,),
    ),
    Mutation(
        "frontier: what was in force before a range is no quiet time",
        "panels/settings_changes.py",
        "if change.what != QUIET and (change.at is None or change.at <= low)]",
        "if change.at is None or change.at <= low]",
        (CHANGES,),
    ),
    Mutation(
        "frontier: of too many answers the times are not read one by one",
        "panels/wall_clock.py",
        "if count > MOST_ROWS:",
        "if False:",
        (FRONTIER,),
    ),
    Mutation(
        "delays: they count from t_max before the tuples that are read",
        "panels/delays.py",
        "np.maximum(np.maximum.accumulate(t_max), before)",
        "np.maximum.accumulate(t_max)",
        (FRONTIER,),
    ),
    Mutation(
        "delays: of a large file the last tuples are read",
        "panels/delays.py",
        'np.maximum(mine["rows"] - MOST_TUPLES, 0)',
        '0 * mine["rows"]',
        (FRONTIER,),
    ),
    Mutation(
        "delays: what came after the range does not count",
        "panels/delays.py",
        "Log.of(reader, until, mine)",
        "Log.of(reader, AFTER_ALL, mine)",
        (FRONTIER,),
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
        "if count > MOST_ROWS:",
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
        "late: a tick of two files is of neither",
        "panels/read_segments.py",
        " & (file[low] == file[high])",
        "",
        (LATE,),
    ),
    Mutation(
        "late: no more late rows are counted by file than are read in time",
        "panels/stream_progress.py",
        "if count > MOST_ROWS:",
        "if False:",
        (LATE,),
    ),
    Mutation(
        "late: a batch that is being written does not count",
        "panels/waiting_rows.py",
        'ds.field("batch") < batches)',
        'ds.field("batch") >= 0)',
        (LATE,),
    ),
    Mutation(
        "late: a damaged journal is said to be damaged",
        "panels/stream_progress.py",
        "check_journal(view.layout, 0)",
        "pass",
        (LATE,),
    ),
    Mutation(
        "late: an idle stream holds nothing back",
        "panels/holding.py",
        "if not state.is_idle}",
        "}",
        (HOLDING,),
    ),
)
