"""Guards of the room `panels`."""

from __future__ import annotations

from guards.mutation import Mutation

SERIES = "tests/unit/panels/test_series.py"

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
)
