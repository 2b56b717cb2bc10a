"""Each function and operator of expressions gives what Spark gives, over edge values: value, type and failure."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions
from pyspark.sql.classic.column import Column

from kit.draws.spark_differences import ANY, FAILS, REFUSED, ROW, examples, golden_times
from kit.draws.spark_expressions import EXPRESSIONS, TABLES
from tailrace.expressions.projection import Projection
from tailrace.expressions.types import column_type, spark_name

DATA = Path(__file__).parents[1] / "data/expressions"
_WITHIN_AN_ULP = ("exp(", "ln(", "log10(", "log2(", "pow(", "power(")


def ours(table: pa.Table, text: str):
    """The type, the values, and the failed rows of an expression."""
    types = {name: column_type(dtype) for name, dtype in zip(table.column_names, table.schema.types, strict=True)}
    needed = Projection.parse({"out": text}, None).inputs
    projection = Projection.parse({"out": text}, None, {name: types[name] for name in needed})
    projected = projection.run(table)
    failed = {row for failure in projected.failures for row in failure.mask.nonzero()[0].tolist()}
    values = projected.table.column("out").to_pylist()
    return spark_name(projection.derived_types["out"]), values, failed


def as_written(value, is_close):
    """A value so that equal ones are alike: NaN is NaN, and -0.0 is not 0.0."""
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return f"{value:.14g}" if is_close else repr(value)
    if isinstance(value, dict):
        return {name: as_written(each, is_close) for name, each in value.items()}
    if isinstance(value, list):
        return [as_written(each, is_close) for each in value]
    return str(value) if isinstance(value, Decimal) else value


def attempted(spark, text: str):
    """A column with the expression's value in a struct; null where Spark raises."""
    jvm = spark._jvm
    expressions = jvm.org.apache.spark.sql.classic.ExpressionUtils
    inner = expressions.expression(functions.expr(f"named_struct('v', {text})")._jc)
    return Column(expressions.column(jvm.org.apache.spark.sql.catalyst.expressions.TryEval(inner)))


def read(column: pa.ChunkedArray):
    """Yield the values of a column of structs; None for a time that Python has not, where ours fails."""
    for each in column:
        try:
            yield each.as_py()
        except (OverflowError, ValueError):
            yield None


def differences(spark, name):
    table = TABLES[name]
    columns = [attempted(spark, text).alias(f"c{number}") for number, text in enumerate(EXPRESSIONS[name])]
    frame = spark.createDataFrame(table).coalesce(1).select(*columns)
    found = frame.toArrow()
    for number, text in enumerate(EXPRESSIONS[name]):
        dtype, values, failed = ours(table, text)
        field = frame.schema[number].dataType["v"].dataType.simpleString()
        if field.replace(" ", "") != dtype.replace(" ", ""):
            yield f"{text}: {dtype}, Spark's is {field}"
        is_close = any(each in text for each in _WITHIN_AN_ULP)
        for row, (value, expected) in enumerate(zip(values, read(found.column(number)), strict=True)):
            one = "failed" if row in failed else as_written(value, is_close)
            other = "failed" if expected is None else as_written(expected["v"], is_close)
            if one != other:
                yield f"{text} of {table.slice(row, 1).to_pylist()}: {one!r}, Spark's is {other!r}"


@pytest.fixture
def as_declared(spark):
    """The session with Spark's defaults, in UTC; it computes no subexpression that may fail before all else."""
    settings = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}
    settings |= {"spark.sql.subexpressionElimination.enabled": "false"}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.parametrize("name", TABLES)
def test_each_expression_gives_what_spark_gives(as_declared, name):
    spark = as_declared
    assert list(differences(spark, name)) == []


def test_the_list_of_spark_s_functions_is_whole(spark):
    shown = {row.function for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert (DATA / "spark_functions.txt").read_text().split() == sorted(shown)


def test_the_golden_values_of_times_are_spark_s(as_declared):
    texts = [f"cast(if(o = 1, {text}, null) as string)" for text in golden_times()]  # a constant is never null
    columns = [attempted(as_declared, text).alias(f"c{number}") for number, text in enumerate(texts)]
    (found,) = as_declared.createDataFrame(ROW).select(*columns).toArrow().to_pylist()
    values = [FAILS if each is None else each["v"] for each in found.values()]
    assert dict(zip(golden_times(), values, strict=True)) == golden_times()


def spark_gives(spark, text):
    """What Spark gives for an expression over the record of the examples, as text."""
    frame = spark.createDataFrame(ROW)
    try:
        (row,) = frame.selectExpr(f"cast({text} as string) AS v").collect()
    except AnalysisException:
        return REFUSED
    except PySparkException:
        return FAILS
    return row.v


@pytest.mark.parametrize("name", dict.fromkeys(each.row for each in examples()))
def test_what_differs_from_spark_is_as_the_table_says(as_declared, name):
    of_row = [each for each in examples() if each.row == name and each.spark != ANY]
    found = {each.text: spark_gives(as_declared, each.text) for each in of_row}
    assert found == {each.text: each.spark for each in of_row}
