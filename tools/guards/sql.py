"""Guards of the room `sql`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import SQL_FORMS, SQL_OUTER, SQL_REFUSALS, SQL_REFUSED, SQL_WRITTEN

SQL_TABLES = "tests/unit/sql/test_table_names.py"

MUTATIONS = (
    Mutation(
        "SQL text: a selected column that is refused has its own place",
        "sql/translate.py",
        'places |= {("topk", "select", str(index)): position',
        'places |= {("topk", "select"): position',
        (SQL_OUTER,),
    ),
    Mutation(
        "SQL text: windows are over event time alone",
        "sql/translate.py",
        "if windows.event_time.name != beside.event_time:",
        "if False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: a derived column hides no column that something else reads",
        "sql/translate.py",
        "    columns.check()\n",
        "",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: a group is no column of the stream and an expression at once",
        "sql/keys.py",
        "alias in item.value.expression().columns:",
        "False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: names of columns differ by case",
        "sql/tokens.py",
        "return token.text if is_column else token.text.lower()",
        "return token.text.lower()",
        (SQL_FORMS,),
    ),
    Mutation(
        "SQL text: a second statement is not passed over",
        "sql/tokens.py",
        "if semicolons and semicolons[0] + 1 < len(tokens):",
        "if False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: a place in several conditions is that of the one that has it",
        "sql/translate.py",
        "zip(self.conditions, ends, strict=True) if offset <= end)",
        "zip(self.conditions, ends, strict=True) if end)",
        (SQL_FORMS,),
    ),
    Mutation(
        "SQL text: windows are over a column that WITH lists",
        "sql/translate.py",
        "    rows.read(windows.event_time)\n",
        "",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: ties are by a column that WITH lists",
        "sql/translate.py",
        "        rows.read(top_n.ties)\n",
        "        pass\n",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: both bounds of windows are groups",
        "sql/keys.py",
        "if bounds.count(name) != 1:",
        "if False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: ties are by the id",
        "sql/translate.py",
        "if top_n.ties is not None and (beside.id is None or top_n.ties.name != beside.id):",
        "if False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: an expression is over aggregates alone",
        "sql/aggregates.py",
        "if column not in names and column != _ALWAYS:",
        "if False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: what it says does not stand beside it too",
        "sql/beside.py",
        'for name in ("key", "where"):',
        "for name in ():",
        (f"{SQL_REFUSALS}::test_a_field_that_says_what_the_text_says_is_refused_by_its_path",),
    ),
    Mutation(
        "SQL text is written only where it is read as the same",
        "sql/write.py",
        "return plain(declared) == plain(fields) and orders[0] == orders[1]",
        "return True",
        (SQL_WRITTEN,),
    ),
    Mutation(
        "SQL text is written of expressions in the spelling that is read back",
        "sql/write.py",
        "fields = _as_sql_says(fields)",
        "pass",
        (SQL_WRITTEN,),
    ),
    Mutation(
        "SQL text: an aggregate in an expression has the name of an equal one in the list",
        "sql/aggregates.py",
        "if (name := name_of_same(section, sections)) is not None:",
        "if (name := None) is not None:",
        ("tests/unit/sql/test_translate.py",),
    ),
    Mutation(
        "SQL text: a parenthesis is closed by one of its sort",
        "sql/tokens.py",
        "if not opened or _OPENING.index(opened[-1].tokens[0].token_type) != _CLOSING.index(token.token_type):",
        "if not opened:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: a list has no other windows than the groups",
        "sql/keys.py",
        "if listed is not None and not listed.equals(windows):",
        "if False:",
        (SQL_REFUSALS,),
    ),
    Mutation(
        "SQL text: a table with an alias is not named otherwise",
        "sql/table_names.py",
        "elif name == table.replaced:",
        "elif False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: window.start is a bound, also of a stream called window",
        "sql/table_names.py",
        " and bound_name(select[index : index + 3]) is None",
        "",
        (SQL_TABLES,),
    ),
    Mutation(
        "SQL text: names of tables hold in their own SELECT",
        "sql/table_names.py",
        'if select.word(index) == "(" and select.word(index + 1) == "SELECT":',
        "if False:",
        (SQL_TABLES,),
    ),
    Mutation(
        "SQL text: distinct from begins no clause",
        "sql/clauses.py",
        'if not (select.word(index - 1) == "DISTINCT" and index > 1 and select.word(index - 2) in ("IS", "NOT"))',
        "",
        (SQL_FORMS,),
    ),
    Mutation(
        "SQL text: no group is an aggregate by its number",
        "sql/keys.py",
        "    if calls_in(value):\n        raise group",
        "    if False:\n        raise group",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: the number of a group is one of the list's",
        "sql/keys.py",
        "if not 1 <= number <= len(items):",
        "if not 0 <= number <= len(items):",
        (SQL_REFUSED,),
    ),
)
