"""Arrays of values, and access to fields, elements and JSON: the parts of nested values."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import pyarrow as pa

from tailrace.expressions.casts import cast, widened
from tailrace.expressions.json_texts import parse_path, path_reader, require_readable, schema_reader
from tailrace.expressions.literals import TypeFault, common_type, null
from tailrace.expressions.operators import comparison
from tailrace.expressions.plan import Plan, PythonFunction, Term, until_null
from tailrace.expressions.registry import constant_of, function, take
from tailrace.expressions.type_names import parse_schema
from tailrace.expressions.types import (
    BIGINT,
    BOOLEAN,
    INT,
    NULL,
    TEXT,
    duckdb_name,
    is_integer,
    spark_name,
    text_literal,
)
from tailrace.ground.near_names import nearest


def field_of(plan: Plan, term: Term, name: str) -> Term:
    """Return a field of a struct; null if the struct is null."""
    if not pa.types.is_struct(term.dtype):
        raise TypeFault(
            f"{spark_name(term.dtype)} has no fields, so none named {name}", "a struct, or get_json_object of a text"
        )
    index = term.dtype.get_field_index(name)
    if index < 0:
        names = [field.name for field in term.dtype]
        raise TypeFault(f"there is no field {name}", nearest(name, names) or " or ".join(names))
    return plan.step(f"struct_extract({term.sql}, {text_literal(name)})", term.dtype.field(index).type, term)


def element_of(plan: Plan, term: Term, key: Term) -> Term:
    """Return an array's element by its index from 0, or a map's value by its key; null if the map lacks the key."""
    term, key = until_null([term, key])
    if pa.types.is_map(term.dtype):
        key = take(plan, key, term.dtype.key_type)
        comparison(plan, "=", [key, key])
        return plan.step(f"{term.sql}[{key.sql}]", term.dtype.item_type, term, key)
    if not pa.types.is_list(term.dtype) or not is_integer(key.dtype):
        raise TypeFault(
            f"{spark_name(term.dtype)} has no elements by {spark_name(key.dtype)}",
            "an array and an int, or a map and a key",
        )
    index = take(plan, key, BIGINT)
    outside = f"{term.sql} IS NOT NULL AND ({index.sql} < 0 OR {index.sql} >= len({term.sql}))"
    return plan.checked(
        f"list_extract({term.sql}, {index.sql} + 1)",
        term.dtype.value_type,
        outside,
        "an index beyond the array",
        term,
        index,
    )


@function("array(any, …)", "an array of the values, in the wider of their types", stops_at_null=False)
def _array_of(plan: Plan, terms: Sequence[Term]) -> Term:
    elements = widened(plan, terms)
    dtype = elements[0].dtype
    if dtype == NULL:
        raise TypeFault("an array of nulls has no type", "array(cast(null as double))")
    return plan.step(f"list_value({', '.join(element.sql for element in elements)})", pa.list_(dtype), *elements)


@function("get(array, index)", "the element at an index from 0; null where there is none")
def _get(plan: Plan, terms: Sequence[Term]) -> Term:
    array, index = _array(terms[0]), take(plan, terms[1], INT)
    sql = f"CASE WHEN {index.sql} >= 0 THEN list_extract({array.sql}, CAST({index.sql} AS BIGINT) + 1) END"
    return plan.step(sql, array.dtype.value_type, array, index)


@function(
    "array_contains(array, any)", "whether it has an element; null where it has not, and has a null, or either is null"
)
def _array_contains(plan: Plan, terms: Sequence[Term]) -> Term:
    array = _array(terms[0])
    dtype, wider = array.dtype.value_type, common_type([null(array.dtype.value_type), terms[1]])
    if wider != dtype:
        fault = f"an argument is {spark_name(terms[1].dtype)}, and has to be {spark_name(dtype)}"
        raise TypeFault(fault, f"cast(… as {spark_name(dtype)})")
    element = cast(plan, terms[1], dtype)
    comparison(plan, "=", [element, element])  # refuses types without equality
    has_null = f"len({array.sql}) > list_aggregate({array.sql}, 'count')"
    sql = f"CASE WHEN {array.sql} IS NULL OR {element.sql} IS NULL THEN NULL"
    sql += f" WHEN list_contains({array.sql}, {element.sql}) THEN TRUE WHEN {has_null} THEN NULL ELSE FALSE END"
    return plan.step(sql, BOOLEAN, array, element)


def _array(term: Term) -> Term:
    if not pa.types.is_list(term.dtype):
        raise TypeFault(f"an argument is {spark_name(term.dtype)}, and has to be an array", "an array")
    return term


@function("size(array)", "the number of elements of an array or a map; null of null", "cardinality")
def _size(plan: Plan, terms: Sequence[Term]) -> Term:
    if not (pa.types.is_list(terms[0].dtype) or pa.types.is_map(terms[0].dtype)):
        raise TypeFault(f"{spark_name(terms[0].dtype)} has no size", "an array or a map")
    counted = "len" if pa.types.is_list(terms[0].dtype) else "cardinality"
    return plan.step(f"{counted}({terms[0].sql})", INT, terms[0])


@function("get_json_object(text, path)", "the value at a literal path of JSON, as text; null where there is none")
def _get_json_object(plan: Plan, terms: Sequence[Term]) -> Term:
    source, path = take(plan, terms[0], TEXT), parse_path(str(constant_of(terms[1], TEXT, "the path")))
    name = f"json_value_{_digest(path)}"
    plan.functions[name] = PythonFunction(path_reader(path))
    return plan.step(f"{name}({source.sql})", TEXT, source)


@function(
    "from_json(text, schema)",
    "the struct that JSON holds by a literal schema, as 'a int, b struct<c: string>'; null where a field does not fit",
)
def _from_json(plan: Plan, terms: Sequence[Term]) -> Term:
    source, dtype = take(plan, terms[0], TEXT), parse_schema(str(constant_of(terms[1], TEXT, "the schema")))
    require_readable(dtype)
    name = f"json_struct_{_digest(dtype)}"
    plan.functions[name] = PythonFunction(schema_reader(dtype), duckdb_name(dtype))
    return plan.step(f"{name}({source.sql})", dtype, source)


def _digest(value: object) -> str:
    return sha256(repr(value).encode()).hexdigest()[:16]
