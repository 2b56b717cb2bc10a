"""Guards of the room `sql`."""

from __future__ import annotations

from guards.mutation import Mutation

FORMS, REFUSALS, WRITTEN = (f"tests/unit/sql/test_{name}.py" for name in ("translate", "refusals", "write"))
REFUSED = f"{REFUSALS}::test_what_a_query_cannot_say_is_refused_at_its_place"

MUTATIONS = (
    Mutation(
        "SQL text: what the outer list of a top-n leaves out is not selected",
        "sql/top_n.py",
        "if top_n.shown is not None and name not in top_n.shown:",
        "if False:",
        ("tests/unit/sql/test_translate.py",),
    ),
    Mutation(
        "SQL text: a name of a top-n gets no second name",
        "sql/translate.py",
        "if item.alias is not None and item.value.name in aliases - {item.alias_name}:",
        "if False:",
        ("tests/unit/sql/test_refusals.py",),
    ),
    Mutation(
        "SQL text: windows are over event time alone",
        "sql/translate.py",
        "if windows.event_time.name != beside.event_time:",
        "if False:",
        (REFUSED,),
    ),
    Mutation(
        "SQL text: a derived column hides no column that something else reads",
        "sql/translate.py",
        "    columns.check()\n",
        "",
        (REFUSED,),
    ),
    Mutation(
        "SQL text: a group is no column of the stream and an expression at once",
        "sql/keys.py",
        "alias in item.value.expression().columns:",
        "False:",
        (REFUSED,),
    ),
    Mutation(
        "SQL text: a column by the name of its table is no nested field",
        "sql/derived.py",
        "if is_path and value[index : index + 1].name == self._stream:",
        "if False:",
        (REFUSED,),
    ),
    Mutation(
        "SQL text: names of columns differ by case",
        "sql/tokens.py",
        "return token.text if is_column else token.text.lower()",
        "return token.text.lower()",
        (FORMS,),
    ),
    Mutation(
        "SQL text: a second statement is not passed over",
        "sql/tokens.py",
        "if semicolons and semicolons[0] + 1 < len(tokens):",
        "if False:",
        (REFUSED,),
    ),
    Mutation(
        "SQL text: both bounds of windows are groups",
        "sql/keys.py",
        "if bounds.count(name) != 1:",
        "if False:",
        (REFUSED,),
    ),
    Mutation(
        "SQL text: ties are by the id",
        "sql/translate.py",
        "if top_n.ties is not None and (beside.id is None or top_n.ties.name != beside.id):",
        "if False:",
        (REFUSED,),
    ),
    Mutation(
        "SQL text: an expression is over aggregates alone",
        "sql/aggregates.py",
        "if column not in names and column != _ALWAYS:",
        "if False:",
        (REFUSED,),
    ),
    Mutation(
        "SQL text: what it says does not stand beside it too",
        "sql/beside.py",
        'for name in ("key", "where"):',
        "for name in ():",
        (f"{REFUSALS}::test_a_field_that_says_what_the_text_says_is_refused_by_its_path",),
    ),
    Mutation(
        "SQL text is written only where it is read as the same",
        "sql/write.py",
        "return plain(declared) == plain(fields) and orders[0] == orders[1]",
        "return True",
        (WRITTEN,),
    ),
    Mutation(
        "SQL text: a parenthesis is closed by one of its sort",
        "sql/tokens.py",
        "if not opened or _OPENING.index(opened[-1].tokens[0].token_type) != _CLOSING.index(token.token_type):",
        "if not opened:",
        (REFUSED,),
    ),
)
