"""Guards of the room `query`: how a query file is read, checked as a whole and compared."""

from __future__ import annotations

from guards.mutation import Mutation

LOADING = "tests/unit/query/test_loading.py"
SQL_FORM = "tests/unit/query/test_sql_form.py"

MUTATIONS = (
    Mutation(
        "an expression that YAML has torn at a comma is to be quoted",
        "query/refusals.py",
        'is_torn = field.count(")") > field.count("(")',
        "is_torn = False",
        ("tests/unit/query/test_loading.py",),
    ),
    Mutation(
        "columns: their order is structure",
        "query/structure.py",
        "if len(named) > 1:",
        "if False:",
        ("tests/unit/engine/test_stream_expressions.py",),
    ),
    Mutation(
        "windows beyond reason",
        "query/sections.py",
        "if self.slide_ms * _MOST_WINDOWS < self.size_ms:",
        "if False:",
        ("tests/unit/query/test_loading.py",),
    ),
    Mutation(
        "edits: names in another order are one",
        "query/differences.py",
        "if before.keys() == now.keys() and [*before] != [*now]:",
        "if False:",
        ("tests/unit/query/test_edits.py",),
    ),
    Mutation(
        "a checkpoint fixes how far event times may be ahead",
        "query/query.py",
        'structure.get(f"streams.{name}.{field}") for field in ("bounds.ahead", "null_key")',
        "None for field in (1, 2)",
        ("tests/unit/storage/test_manifest.py",),
    ),
    Mutation(
        "null keys: no field of a stream without a key",
        "query/sections.py",
        "if self.null_key is not None and self.key is None:",
        "if False:",
        ("tests/unit/query/test_key_section.py",),
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
        "newest lookups: kinds of windows alone",
        "query/later_versions.py",
        'if section.corrections == "newest":',
        "if False:",
        ("tests/unit/stream/test_newest_lookups.py::test_a_join_takes_no_newer_version_for_its_corrections",),
    ),
    Mutation(
        "refusals: the field of a source's place",
        "query/loading.py",
        "            with suppress(Refused):  # the file may have changed since\n                problems =",
        "            with suppress(Refused):  # the file may have changed since\n                _ =",
        ("tests/unit/cli/test_place_fields.py",),
    ),
    Mutation(
        "refusals: a query file that is refused by now leaves the first refusal",
        "query/loading.py",
        "with suppress(Refused):  # the file",
        "with suppress(ZeroDivisionError):  # the file",
        ("tests/unit/cli/test_place_fields.py::test_a_file_that_is_no_query_any_more_leaves_the_refusal",),
    ),
    Mutation(
        "refusals: a query file below a source's place is named by its own line",
        "query/place_fields.py",
        "if not above or _LINE.search(where):",
        "if not above:",
        ("tests/unit/cli/test_place_fields.py",),
    ),
)
