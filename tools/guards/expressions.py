"""Guards of the room `expressions`."""

from __future__ import annotations

from guards.mutation import Mutation

PARSE = "tests/unit/expressions/test_parse.py"
PROJECTION = "tests/unit/expressions/test_projection.py"
CONNECTION = "tests/unit/expressions/test_connection.py"
REGEX = "tests/unit/expressions/test_java_regex.py"
DECIMALS = "tests/unit/expressions/test_decimals.py"
SPARK_VALUES = "tests/unit/expressions/test_spark_values.py"
MORE_FUNCTIONS = "tests/unit/expressions/test_more_functions.py"
LONG_LISTS = "tests/unit/expressions/test_long_lists.py"
READER = "tests/unit/engine/test_stream_expressions.py"

MUTATIONS = (
    Mutation(
        "a side and a column in one pair of backticks are one name: each is quoted by itself",
        "expressions/qualified.py",
        "if dot and name and qualifier in qualifiers:",
        "if False:",
        ("tests/unit/kind/test_pair_condition.py",),
    ),
    Mutation(
        "expressions: over several records each column says of which",
        "expressions/expression.py",
        "        check_qualifiers(text, qualifiers)",
        "        pass",
        ("tests/unit/kind/test_pair_condition.py",),
    ),
    Mutation(
        "expressions: nodes on the list alone",
        "expressions/parse.py",
        "if type(node) not in _NODES:",
        "if type(node) in _WHAT:",
        (PARSE,),
    ),
    Mutation(
        "expressions: no part of a node is passed over",
        "expressions/parse.py",
        "if part not in known and value:",
        "if False:",
        (PARSE,),
    ),
    Mutation(
        "expressions: functions on the list alone",
        "expressions/parse.py",
        "return _call_fault(node)",
        "return None",
        (PARSE,),
    ),
    Mutation(
        "expressions: a comparison beside a comparison",
        "expressions/parse.py",
        "if inner is not None and not isinstance(node, exp.In):",
        "if False:",
        (PARSE,),
    ),
    Mutation(
        "expressions: an escape in a text that is not the same to all",
        "expressions/literal_texts.py",
        "if text[at + 1 : at + 2] not in _ESCAPES or at + 1 >= len(text):",
        "if False:",
        (PARSE,),
    ),
    Mutation(
        "long decimals: six places stay",
        "expressions/decimals.py",
        "min(scale, _LEAST_SCALE)))",
        "0))",
        (DECIMALS,),
    ),
    Mutation(
        "long decimals: products are rounded",
        "expressions/decimals.py",
        "    if places:\n",
        "    if False:\n",
        (DECIMALS,),
    ),
    Mutation(
        "long decimals: parts of a sum with unlike signs",
        "expressions/decimals.py",
        "WHEN {carried} < 0 AND {rest} > 0 THEN 1 ELSE",
        "ELSE",
        (DECIMALS,),
    ),
    Mutation(
        "long decimals: a result of more than 38 digits fails",
        "expressions/decimals.py",
        'return plan.fallible(sql, decimal(38, 0), f"{spark_name(dtype)} overflow", *terms)',
        'return _step(plan, f"TRY({sql})", *terms)',
        (DECIMALS,),
    ),
    Mutation(
        "long decimals: the remainder of null by zero",
        "expressions/decimals.py",
        'by_zero = f"{other.sql} = 0 AND {one.sql} IS NOT NULL"',
        'by_zero = f"{other.sql} = 0"',
        (DECIMALS,),
    ),
    Mutation(
        "expressions: files are out of DuckDB's reach",
        "expressions/connection.py",
        '"enable_external_access": False,',
        '"enable_external_access": True,',
        (CONNECTION,),
    ),
    Mutation(
        "expressions: no setting of DuckDB can be changed",
        "expressions/connection.py",
        'opened.execute("SET lock_configuration = true")',
        "pass",
        (CONNECTION,),
    ),
    Mutation(
        "expressions: connections outlive the threads of a batch",
        "expressions/connection.py",
        "        _idle.append(lent)\n",
        "        pass\n",
        (CONNECTION,),
    ),
    Mutation(
        "expressions: a forked process opens a connection of its own",
        "expressions/connection.py",
        "if lent.process == os.getpid():",
        "if lent.process:",
        (CONNECTION,),
    ),
    Mutation(
        "expressions: what is not evaluated does not fail",
        "expressions/plan.py",
        'return replace(self, condition=f"(({guard}) AND {self.condition})")',
        "return self",
        (PROJECTION,),
    ),
    Mutation(
        "expressions: a null operand is no fault",
        "expressions/plan.py",
        'Fault(f"({value.sql} IS NULL{present})", reason)',
        'Fault(f"({value.sql} IS NULL)", reason)',
        (PROJECTION,),
    ),
    Mutation(
        "expressions: no operand is evaluated after a null",
        "expressions/plan.py",
        'faults = tuple(fault.guarded(" AND ".join(guards)) for fault in term.faults) if guards else term.faults',
        "faults = term.faults",
        (SPARK_VALUES,),
    ),
    Mutation(
        "expressions: a divisor is evaluated before its dividend",
        "expressions/operators.py",
        'if sign in "/%" else until_null(terms)',
        "if not sign else until_null(terms)",
        (SPARK_VALUES,),
    ),
    Mutation(
        "expressions: no day has a 24th hour",
        "expressions/time_texts.py",
        "{number['hour']} < 24 AND ",
        "",
        (SPARK_VALUES,),
    ),
    Mutation(
        "expressions: a zone moves no timestamp beyond the years 1 to 9999",
        "expressions/time_texts.py",
        "BETWEEN {_FIRST} AND {_LAST}",
        "IS NOT NULL",
        (SPARK_VALUES,),
    ),
    Mutation(
        "expressions: a double beyond the floats is infinite",
        "expressions/casts.py",
        "{size} < {_BEYOND_FLOATS!r}",
        "TRUE",
        (SPARK_VALUES,),
    ),
    Mutation(
        "expressions: a JSON object keeps members of one name",
        "expressions/json_texts.py",
        "json.JSONDecoder(object_pairs_hook=tuple)",
        "json.JSONDecoder(object_pairs_hook=lambda pairs: tuple(dict(pairs).items()))",
        (SPARK_VALUES,),
    ),
    Mutation(
        "expressions: of a date and days, the date is evaluated first",
        "expressions/operators.py",
        '"date_sub"].call(plan, [one, other])',
        '"date_sub"].call(plan, until_null(terms) if one is terms[0] else until_null(terms)[::-1])',
        (MORE_FUNCTIONS,),
    ),
    Mutation(
        "expressions: a list is evaluated up to the value that is equal",
        "expressions/operators.py",
        'f"{last.sql} >= {number}"',
        'f"{last.sql} >= 0"',
        (SPARK_VALUES,),
    ),
    Mutation(
        "expressions: a time that is a literal text is read once",
        "expressions/time_texts.py",
        "if not term.is_literal or term.value is None:",
        "if True:",
        (LONG_LISTS,),
    ),
    Mutation(
        "expressions: an array without an element, and with a null, may have it",
        "expressions/nested.py",
        "WHEN {has_null} THEN NULL ELSE FALSE END",
        "ELSE FALSE END",
        (MORE_FUNCTIONS,),
    ),
    Mutation(
        "expressions: a filtered record has not failed",
        "expressions/projection.py",
        "(numbers == number) & among",
        "numbers == number",
        (PROJECTION,),
    ),
    Mutation(
        "expressions: a derived column does not see those below it",
        "expressions/projection.py",
        "self.require_order(plan.columns)",
        "pass",
        (PROJECTION,),
    ),
    Mutation(
        "expressions: a decimal of more digits than there are",
        "expressions/literals.py",
        "if precision > MOST_DIGITS:\n        fault",
        "if False:\n        fault",
        (PROJECTION,),
    ),
    Mutation(
        "expressions: doubles are rounded by plain digits",
        "expressions/text_casts.py",
        "CASE WHEN contains({text.sql}, 'e') THEN plain_number({text.sql}) ELSE {text.sql} END",
        "{text.sql}",
        (PROJECTION,),
    ),
    Mutation(
        "expressions: a number in a record asks for no text of any length",
        "expressions/texts.py",
        "_LONGEST = 1 << 20",
        "_LONGEST = 1 << 40",
        (PROJECTION,),
    ),
    Mutation(
        "expressions: a pattern that matches the empty text is not replaced",
        "expressions/texts.py",
        "if pattern.matches_empty:",
        "if False:",
        (PROJECTION,),
    ),
    Mutation(
        "expressions: a repetition of what can be empty",
        "expressions/java_regex.py",
        "if suffix and (not can_repeat or can_be_empty):",
        "if suffix and not can_repeat:",
        (REGEX,),
    ),
    Mutation(
        "where: the reader without values leaves the same records out",
        "expressions/projection.py",
        "set(() if self.where is None else self._expression(self.where).columns)",
        "set()",
        (READER,),
    ),
    Mutation(
        "expressions without their libraries are refused where they are declared",
        "expressions/expression.py",
        "    require_libraries()\n    from tailrace.expressions.parse",
        "    from tailrace.expressions.parse",
        ("tests/unit/cli/test_core_alone.py",),
    ),
)
