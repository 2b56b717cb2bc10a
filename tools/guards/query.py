"""Guards of the room `query`."""

from __future__ import annotations

from guards.mutation import Mutation

LOADING = "tests/unit/query/test_loading.py"
WINDOW = "tests/unit/query/test_window_section.py"
PROMISES = "tests/unit/query/test_promise_names.py"
SQL_FORM = "tests/unit/query/test_sql_form.py"

MUTATIONS = (
    Mutation(
        "query file: a join does not select the identity of its answers",
        "query/joins.py",
        "if column in columns_of_side(selection, side).values():",
        "if False:",
        ("tests/contract/test_conditions_of_pairs.py::test_the_identity_is_not_selected_and_a_condition_is_explained",),
    ),
    Mutation(
        "columns: their order is structure",
        "query/query.py",
        "if len(stream.columns) > 1:",
        "if False:",
        ("tests/unit/engine/test_stream_expressions.py",),
    ),
    Mutation(
        "a random schedule is refused",
        "query/correction_section.py",
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
        "windows beyond reason",
        "query/sections.py",
        "if self.slide_ms * _MOST_WINDOWS < self.size_ms:",
        "if False:",
        ("tests/unit/query/test_loading.py",),
    ),
    Mutation(
        "aggregates: their order is structure",
        "query/windowed.py",
        "if len(names) > 1 else {}",
        "if False else {}",
        ("tests/unit/query/test_edits.py",),
    ),
    Mutation(
        "edits: names in another order are one",
        "query/differences.py",
        "if before.keys() == now.keys() and [*before] != [*now]:",
        "if False:",
        ("tests/unit/query/test_edits.py",),
    ),
    Mutation(
        "lineage: through derived columns to the source's",
        "query/column_lineage.py",
        "for source in self._sources.get(each, (each,)))",
        "for source in (each,))",
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
        "weeks and months need a time zone",
        "query/window_section.py",
        "if unit is not None:",
        "if False:",
        (WINDOW,),
    ),
    Mutation(
        "windows of a time zone are its days, weeks or months",
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
        "a checkpoint fixes how far event times may be ahead",
        "query/query.py",
        'stream.bounded_by(structure.get(f"streams.{name}.bounds.ahead"))',
        "stream",
        ("tests/unit/storage/test_manifest.py",),
    ),
    Mutation(
        "query file: no anchors",
        "query/yaml_file.py",
        'if anchor := getattr(event, "anchor", None):',
        "if anchor := None:",
        (LOADING,),
    ),
    Mutation(
        "query file: no tags",
        "query/yaml_file.py",
        'if tag := getattr(event, "tag", None):',
        "if tag := None:",
        (LOADING,),
    ),
    Mutation(
        "query file: no deep nesting",
        "query/yaml_file.py",
        "if documents > 1 or depth > MAX_DEPTH:",
        "if documents > 1:",
        (LOADING,),
    ),
    Mutation(
        "query file: no more than 64 KiB",
        "query/yaml_file.py",
        "if len(content) > MAX_BYTES:",
        "if False:",
        (LOADING,),
    ),
    Mutation(
        "query file: a misspelt field by which sections are told apart is named",
        "query/refusals.py",
        'if error == "union_tag_not_found" and (near',
        "if False and (near",
        (LOADING,),
    ),
    Mutation(
        "query file: a misspelt field is none that stands there",
        "query/refusals.py",
        "[choice for choice in choices if choice not in present]",
        "choices",
        (LOADING,),
    ),
    Mutation(
        "SQL text: what its sections refuse has its place in the text",
        "query/loading.py",
        "if sql is None or position is None:",
        "if True:",
        (f"{SQL_FORM}::test_what_the_sections_of_sql_text_refuse_has_its_place_in_the_text",),
    ),
    Mutation(
        "SQL text: an expression that does not fit the source has its place in the text",
        "query/loading.py",
        "if sql is not None and translation is not None and len(said) > len(named):",
        "if False:",
        ("tests/unit/cli/test_sql_text.py::test_an_expression_that_does_not_fit_the_source_is_refused_at_its_place",),
    ),
    Mutation(
        "a field without a line of its own: the line of the longest path above it",
        "query/loading.py",
        "return max(above, key=len, default=())",
        "return next((path for path in above if '.'.join(path) == field), ())",
        (
            "tests/unit/cli/test_expressions.py::test_each_column_that_the_source_lacks_is_refused_by_its_line_field_and_place",
        ),
    ),
    Mutation(
        "SQL text of its own file stands once",
        "query/loading.py",
        "    if SQL in tree.data:\n",
        "    if False:\n",
        (f"{SQL_FORM}::test_each_sort_of_file_is_refused_where_the_other_one_belongs",),
    ),
    Mutation(
        "the schema: no section that says the same beside SQL text",
        "query/sql_schema.py",
        'beside |= dict.fromkeys(("aggregate", "emd_join", "spatial_join"), False)',
        "pass",
        ("tests/unit/query/test_sql_schema.py",),
    ),
    Mutation(
        "query file: a missing slide is the size",
        "query/sections.py",
        'object.__setattr__(self, "slide", self.size)',
        "pass",
        (LOADING,),
    ),
    Mutation(
        "query file: a join with a table takes no disorder",
        "query/joins.py",
        'if "disorder" in self.model_fields_set:',
        "if False:",
        ("tests/unit/query/test_table_joins.py",),
    ),
)
