"""Guards of the room `query`: the rules of single sections, joins and windows."""

from __future__ import annotations

from guards.mutation import Mutation

WINDOW = "tests/unit/query/test_window_section.py"
PROMISES = "tests/unit/query/test_promise_names.py"
WITHIN = "tests/unit/aggregate/test_within_expressions.py"
LINEAGE, LOADING = "tests/unit/query/test_column_lineage.py", "tests/unit/query/test_loading.py"
HAVING = "tests/unit/aggregate/test_having.py"

MUTATIONS = (
    Mutation(
        "emd_join: the feedback period binds no checkpoint",
        "query/joins.py",
        'for name in ("ground_distance.matrix", "feedback"):',
        'for name in ("ground_distance.matrix",):',
        ("tests/unit/storage/test_manifest.py::test_a_feedback_period_may_change",),
    ),
    Mutation(
        "query file: a join does not select the identity of its answers",
        "query/joins.py",
        "if column in columns_of_side(selection, side).values():",
        "if False:",
        ("tests/contract/test_conditions_of_pairs.py::test_the_identity_is_not_selected_and_a_condition_is_explained",),
    ),
    Mutation(
        "a random schedule is refused",
        "query/cron.py",
        "if any(_RANDOM.match(field) for field in schedule.split()):",
        "if False:",
        ("tests/unit/query/test_manners.py",),
    ),
    Mutation(
        "promises: a name of no answer",
        "query/promise_names.py",
        "if name not in section.each:",
        "if False:",
        (PROMISES,),
    ),
    Mutation(
        "promises: the short form has no names",
        "query/promise_names.py",
        "if policy.of is not None:",
        "if False:",
        (PROMISES,),
    ),
    Mutation(
        "promises: an answer without a coverage threshold",
        "query/promise_names.py",
        "if reasons[name] is not None:",
        "if False:",
        (PROMISES,),
    ),
    Mutation(
        "having: its columns decide which answers there are",
        "query/column_lineage.py",
        "if expressions.having is not None:",
        "if False:",
        (f"{HAVING}::test_the_columns_of_a_condition_decide_which_answers_there_are",),
    ),
    Mutation(
        "aggregates: their order is structure",
        "query/windowed.py",
        "if len(names) > 1 else {}",
        "if False else {}",
        ("tests/unit/query/test_edits.py",),
    ),
    Mutation(
        "lineage: through derived columns to the source's",
        "query/column_lineage.py",
        "for source in self._behind(each))",
        "for source in ((self.name, each),))",
        ("tests/unit/query/test_column_lineage.py",),
    ),
    Mutation(
        "lineage: a condition is no value",
        "query/column_lineage.py",
        "origins += stream.in_expression(section.where, FILTER)",
        "origins += stream.in_expression(section.where, AGGREGATION)",
        ("tests/unit/query/test_column_lineage.py",),
    ),
    Mutation(
        "weeks, months, quarters and years need a time zone",
        "query/window_section.py",
        "if unit is not None:",
        "if False:",
        (WINDOW,),
    ),
    Mutation(
        "windows of a time zone follow its calendar",
        "query/window_section.py",
        "if self.timezone is not None and self.size not in _UNITS:",
        "if False:",
        (WINDOW,),
    ),
    Mutation(
        "an offset is less than a slide",
        "query/window_section.py",
        "if abs(self.offset) >= self.slide:",
        "if False:",
        (WINDOW,),
    ),
    Mutation(
        "no key is called as another column of answers",
        "query/key_section.py",
        "if name.lower() in taken:",
        "if False:",
        ("tests/unit/query/test_key_section.py",),
    ),
    Mutation(
        "query file: a join with a table takes no disorder",
        "query/joins.py",
        'if "disorder" in self.model_fields_set:',
        "if False:",
        ("tests/unit/query/test_table_joins.py",),
    ),
    Mutation(
        "postgres table: its connection goes with the query",
        "query/joins.py",
        "return sorted({*super().connections, *own})",
        "return super().connections",
        (
            "tests/unit/query/test_table_joins.py::test_a_table_of_postgres_is_named_by_its_connection_and_leaves_the_checkpoint_as_it_is",
        ),
    ),
    Mutation(
        "newest lookups: times and ids are no looked-up columns",
        "query/lookup_section.py",
        "looked_up.intersection([column, *behind])",
        "looked_up.intersection([])",
        ("tests/unit/stream/test_newest_lookups.py::test_times_and_ids_that_are_looked_up_are_refused",),
    ),
    Mutation(
        "newest lookups: all of a stream, or none",
        "query/lookup_section.py",
        "if others := [",
        "if others := [][:0] and [",
        ("tests/unit/stream/test_newest_lookups.py::test_lookups_of_one_stream_are_corrected_alike",),
    ),
    Mutation(
        "direct calibration: functions that keep values are refused",
        "query/windowed.py",
        'policy.method == "two_scales" and (names := self._keeping)',
        'policy.method == "two_scales" and (names := [])',
        ("tests/unit/query/test_loading.py::test_functions_that_keep_values_alone_are_not_calibrated_directly",),
    ),
    Mutation(
        "cost: prices go with a calibration that follows them",
        "query/policy_pairing.py",
        "if query.calibration.cost is None:",
        "if True:",
        ("tests/unit/calibration/test_cost.py::test_prices_go_with_a_direct_calibration",),
    ),
    Mutation(
        "calibration: a schedule of calibrations is for a policy that takes proposals",
        "query/policy_pairing.py",
        "elif query.calibration != CalibrationSection():",
        "elif False:",
        ("tests/unit/query/test_calibration_section.py",),
    ),
    Mutation(
        "calibration: Airflow calibrates every minute at most",
        "query/policy_pairing.py",
        "if interval is not None and interval < _SHORTEST:",
        "if False:",
        ("tests/unit/query/test_calibration_section.py",),
    ),
    Mutation(
        "calibration: the time from one to the next is a hundred years at most",
        "query/policy_pairing.py",
        "if calibration.windows is not None and calibration.windows > (most := max(1, _LONGEST // step)):",
        "if False:",
        ("tests/unit/query/test_calibration_section.py",),
    ),
    Mutation(
        "expressions over aggregates: a checkpoint is bound to what they mean",
        "query/windowed.py",
        "super().structure() | section.in_structure() | order",
        "super().structure() | order",
        (f"{WITHIN}::test_a_checkpoint_is_bound_to_what_an_expression_means_and_not_to_its_spelling",),
    ),
    Mutation(
        "expressions over aggregates: lineage goes through them",
        "query/column_lineage.py",
        "functions, names = (section.functions | section.hidden).items(), [*section.each]",
        "functions, names = section.functions.items(), [*section.each]",
        (f"{LINEAGE}::test_an_aggregate_in_an_expression_comes_from_its_columns_as_one_with_a_name",),
    ),
    Mutation(
        "expressions over aggregates: method two_scales takes none that keeps values",
        "query/windowed.py",
        "[*section.functions.values(), *section.hidden.values()]",
        "[*section.functions.values()]",
        (f"{LOADING}::test_an_aggregate_in_an_expression_that_keeps_values_is_not_calibrated_directly",),
    ),
    Mutation(
        "sessions: no policy promises anything of them",
        "query/sessions.py",
        "not isinstance(query.policy, NoSlack | KSlack | MPKSlack)",
        "False",
        ("tests/unit/query/test_window_section.py",),
    ),
    Mutation(
        "sessions: no estimate of them",
        "query/windowed.py",
        "if one.estimate and self.has_sessions:",
        "if False:",
        ("tests/unit/query/test_window_section.py",),
    ),
    Mutation(
        "sessions: structures of other windows have no field of them",
        "query/window_section.py",
        '(name == "session") == (self.session is not None)',
        "True",
        ("tests/unit/query/test_window_section.py",),
    ),
)
