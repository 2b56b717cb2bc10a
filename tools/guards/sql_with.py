"""Guards of the room `sql`: WITH, and SELECTs on top of each other."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import SQL_FORMS, SQL_REFUSALS, SQL_REFUSED

MUTATIONS = (
    Mutation(
        "SQL text: a column by the name of its table is no nested field",
        "sql/projected.py",
        "if is_path and table in tables:",
        "if False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: a list without * limits the columns that can be read",
        "sql/projected.py",
        "if self.visible is not None and name not in self.visible:",
        "if False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: a condition of WITH reads no column that is derived beside it or above",
        "sql/projected.py",
        "if (reader := readers.get(name)) is not None:",
        "if (reader := None) is not None:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: a column of WITH reads none that is derived in the same list",
        "sql/projected.py",
        "if above is not None:",
        "if False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: a column of WITH has no name that stands beside it in *",
        "sql/projected.py",
        "if has_all and is_there:",
        "if False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: a name is derived once",
        "sql/projected.py",
        "if name in self.derived:",
        "if False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: a column of WITH takes no name of the stream's declaration",
        "sql/projected.py",
        "if name in self.fixed:",
        "if False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: a column of WITH takes no name of a bound of windows",
        "sql/projected.py",
        "if name.lower() in WINDOW_COLUMNS:",
        "if False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: a column by the name of what WITH names is no nested field",
        "sql/projected.py",
        "tables=self.tables | {title},",
        "tables=self.tables,",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: what WITH names is read",
        "sql/selects.py",
        "    require_read(named, read)\n",
        "",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: a SELECT reads what WITH names before it",
        "sql/selects.py",
        "            known = known[:stream_name]\n",
        "            known = [each for each in known if each is not known[stream_name]]\n",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: no groups below another SELECT",
        "sql/selects.py",
        "    if clauses.group:\n",
        "    if False:\n",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: no windows below another SELECT",
        "sql/selects.py",
        "if source.windows is not None:",
        "if False:",
        (SQL_REFUSED,),
    ),
    Mutation(
        "SQL text: SELECTs on top of each other have a limit",
        "sql/selects.py",
        "if len(selects) == _MOST:",
        "if False:",
        (f"{SQL_REFUSALS}::test_selects_on_top_of_each_other_have_a_limit",),
    ),
    Mutation(
        "SQL text: several conditions are joined in parentheses",
        "sql/derived.py",
        'return " and ".join(f"({text})" for text in texts)',
        'return " and ".join(text for text in texts)',
        (SQL_FORMS,),
    ),
    Mutation(
        "SQL text: a key hides no column that a condition of WITH reads",
        "sql/derived.py",
        "            self._note(condition, columns_read(condition))\n",
        "            pass\n",
        (SQL_REFUSED,),
    ),
)
