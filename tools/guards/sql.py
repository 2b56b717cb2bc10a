"""Guards of the room `sql`."""

from __future__ import annotations

from guards.mutation import Mutation

FORMS, REFUSALS, WRITTEN = (f"tests/unit/sql/test_{name}.py" for name in ("translate", "refusals", "write"))
OUTER = "tests/unit/sql/test_outer_list.py"
REFUSED = f"{REFUSALS}::test_what_a_query_cannot_say_is_refused_at_its_place"

MUTATIONS = (
    Mutation(
        "SQL text: what the outer list of a top-n leaves out is not selected",
        "sql/top_n.py",
        "if name is None or name not in top_n.shown:",
        "if name is None:",
        ("tests/unit/sql/test_translate.py",),
    ),
    Mutation(
        "SQL text: a name of a top-n gets no second name",
        "sql/outer_list.py",
        "if own is not None and own.alias is not None:",
        "if False:",
        ("tests/unit/sql/test_refusals.py", OUTER),
    ),
    Mutation(
        "SQL text: an expression over a name of the inner list of a top-n has what that list has for it",
        "sql/outer_list.py",
        "if own is not None and own.alias is not None and own.value.name != name:",
        "if False:",
        (OUTER,),
    ),
    Mutation(
        "SQL text: what the inner list of a top-n has for a name stands in parentheses",
        "sql/outer_list.py",
        'else f"({own.value.text})"',
        "else own.value.text",
        (OUTER,),
    ),
    Mutation(
        "SQL text: no expression is over the rank of a top-n, or over the bounds of windows",
        "sql/outer_list.py",
        "if name == self.rank or name.lower() in WINDOW_COLUMNS or (own is not None and _is_bound(own)):",
        "if False:",
        (OUTER,),
    ),
    Mutation(
        "SQL text: the rank of a top-n gets no other name",
        "sql/outer_list.py",
        "if item.alias_name in (None, name, _RANK):",
        "if True:",
        (OUTER,),
    ),
    Mutation(
        "SQL text: the outer list of a top-n reads what the inner one has",
        "sql/outer_list.py",
        "elif own is None and not self.has_all:",
        "elif False:",
        (OUTER,),
    ),
    Mutation(
        "SQL text: a column of a top-n by the name of its table is no nested field",
        "sql/outer_list.py",
        "if path[0] in self.tables and len(path) > 1:",
        "if False:",
        (OUTER,),
    ),
    Mutation(
        "SQL text: two columns of a top-n have two names",
        "sql/outer_list.py",
        "elif other.value.same != item.value.same:",
        "elif False:",
        (OUTER,),
    ),
    Mutation(
        "SQL text: * of a top-n leaves no column out",
        "sql/outer_list.py",
        'if value.word(0) == "*" and len(value) > 1:',
        "if False:",
        (OUTER,),
    ),
    Mutation(
        "SQL text: a selected column that is refused has its own place",
        "sql/translate.py",
        'places |= {("topk", "select", str(index)): position',
        'places |= {("topk", "select"): position',
        (OUTER,),
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
