"""OpenLineage's datasets of a query's tasks: the sources and tables they read, the Delta tables they write.

Imported only when the OpenLineage provider asks an operator for them, which needs the extra `tailrace[openlineage]`.
The names of datasets follow OpenLineage's naming conventions: a topic of a broker, a path of a bucket or of this
machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import pyarrow.dataset as ds
from airflow.providers.openlineage.extractors import OperatorLineage
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    InputDatasetFacet,
    OutputDatasetFacet,
    base_subset_dataset,
    column_lineage_dataset,
    dataset_version_dataset,
    output_statistics_output_dataset,
    schema_dataset,
    storage_dataset,
)

from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.duration import format_time
from tailrace.kind.column_use import DIRECT
from tailrace.kind.table_place import TablePlace
from tailrace.orchestration.assets import CORRECTION_WRITES
from tailrace.orchestration.passed_connections import brokers_of_connection, database_of_connection
from tailrace.query.answers_section import CURRENT
from tailrace.query.column_lineage import Origin, column_lineage
from tailrace.query.query import Query
from tailrace.sources.answers_source import AnswersSource
from tailrace.sources.declared_source import DeclaredSource
from tailrace.sources.lookup.dimension_sources import postgres_table
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import stream_tables
from tailrace.storage.tables import Tables

_STORAGE = storage_dataset.StorageDatasetFacet(storageLayer="delta", fileFormat="parquet")


def of_stream(query: Query, layout: Layout, since: datetime | None) -> OperatorLineage[Any, Any]:
    """Return the lineage of a stream's driver: from its sources to its existing tables and delivery targets."""
    tables = Tables(layout)
    names = [name for name in stream_tables(layout.histories(query.streams)) if tables.has(name)]
    columns = {"columnLineage": _columns(query, layout)}
    written = [_written(layout, name, more=columns if name == "results" else {}) for name in names or ["results"]]
    read = [*_sources(query, layout), *_later_versions(query, layout)]
    return OperatorLineage(read, [*written, *_places(query, layout)])


def of_correction(
    query: Query, layout: Layout, since: datetime | None, correction_range: CorrectionRange | None = None
) -> OperatorLineage[Any, Any]:
    """Return the lineage of a correction.

    Parameters
    ----------
    since : datetime, optional
        The time when it began. The number of its rows is known once it has ended.
    correction_range : CorrectionRange, optional
        The range of the correction; None before it has begun.
    """
    late: dict[str, InputDatasetFacet] = {} if correction_range is None else _interval(correction_range)
    corrected: dict[str, OutputDatasetFacet] = (
        {} if correction_range is None else _rows_of(layout, correction_range, since)
    )
    read = [_read(layout, "late", late), _read(layout, "results"), *_history(query, layout)]
    columns = {"columnLineage": _columns(query, layout)}
    written = [
        _written(layout, "corrections", corrected, columns),
        *(_written(layout, name) for name in CORRECTION_WRITES),
        *_places(query, layout),
    ]
    return OperatorLineage(read, written)


def of_calibration(query: Query, layout: Layout, since: datetime | None) -> OperatorLineage[Any, Any]:
    """Return the lineage of a calibration; it has an output only if it has made a proposal."""
    read = [*_history(query, layout), _read(layout, "metrics")]
    has_proposed = _has_row_since(Tables(layout), "proposals", "made_at", since)
    return OperatorLineage(read, [_written(layout, "proposals")] if has_proposed else [])


def of_rebuild(
    query: Query, layout: Layout, since: datetime | None, rebuilds: bool = False
) -> OperatorLineage[Any, Any]:
    """Return the lineage of a rebuild, from history to its stream's tables; a dry run writes none."""
    written = of_stream(query, layout, since).outputs if rebuilds else []
    read = {
        each.name: each
        for each in [*_history(query, layout), *_sources(query, layout), *_later_versions(query, layout)]
    }
    return OperatorLineage([*read.values()], written)


def _places(query: Query, layout: Layout) -> list[OutputDataset]:
    """Return the targets to which streams, corrections and rebuilds deliver answers."""
    columns = {"columnLineage": _columns(query, layout)}
    places = [_written(layout, CURRENT, more=columns)] if Tables(layout).has(CURRENT) else []
    if (topic := query.answers.kafka) is not None:
        places.append(OutputDataset(topic.namespace(brokers_of_connection), topic.topic, facets={**columns}))
    if (table := query.answers.postgres) is not None:
        places.append(OutputDataset(*table.dataset(database_of_connection), facets={**columns}))
    return places


def _sources(query: Query, layout: Layout) -> list[InputDataset]:
    """Return the sources of the streams, and the locations of the tables that they are joined with."""
    datasets = [_source(stream.source, layout) for stream in query.streams.values()]
    return datasets + [InputDataset(*_dimension(table.place)) for table in query.tables.values()]


def _dimension(location: TablePlace) -> tuple[str, str]:
    """Return namespace and name of a dimension table."""
    if location.format == "postgres":
        return postgres_table(location).dataset(database_of_connection)
    return "file", str(location.file.absolute())


def _source(source: DeclaredSource, layout: Layout) -> InputDataset:
    """Return a stream's source; for another query's answers, that query's table `results`."""
    if isinstance(source, AnswersSource):
        return InputDataset("file", str(Layout(layout.home.parent / source.query).table("results")))
    return InputDataset(*source.dataset(brokers_of_connection))


def _later_versions(query: Query, layout: Layout) -> list[InputDataset]:
    """Return the corrections of the queries whose answers the streams read."""
    sources = [stream.source for stream in query.streams.values()]
    upstream = [Layout(layout.home.parent / each.query) for each in sources if isinstance(each, AnswersSource)]
    return [InputDataset("file", str(each.table("corrections"))) for each in upstream]


def _history(query: Query, layout: Layout) -> list[InputDataset]:
    """Return the history of each stream; none if the source is itself a durable log."""
    tables, streams = Tables(layout), zip(layout.histories(query.streams), _sources(query, layout), strict=False)
    return [_read(layout, name) if tables.has(name) else source for name, source in streams]


def _read(layout: Layout, name: str, facets: Mapping[str, InputDatasetFacet] | None = None) -> InputDataset:
    return InputDataset("file", str(layout.table(name)), facets=_facets(layout, name), inputFacets=dict(facets or {}))


def _written(
    layout: Layout,
    name: str,
    facets: Mapping[str, OutputDatasetFacet] | None = None,
    more: Mapping[str, DatasetFacet] | None = None,
) -> OutputDataset:
    of_dataset = _facets(layout, name) | dict(more or {})
    return OutputDataset("file", str(layout.table(name)), facets=of_dataset, outputFacets=dict(facets or {}))


def _columns(query: Query, layout: Layout) -> DatasetFacet:
    """Return the columns of the sources from which each column of answers is computed, directly or indirectly."""
    lineage, read = column_lineage(query), [*query.streams, *query.tables]
    sources = dict(zip(read, _sources(query, layout), strict=True))
    fields = {
        name: column_lineage_dataset.Fields(inputFields=_input_fields(origins, sources))
        for name, origins in lineage.columns.items()
    }
    of_all = _input_fields(lineage.answers, sources)
    return column_lineage_dataset.ColumnLineageDatasetFacet(fields=fields, dataset=of_all)


def _input_fields(
    origins: Iterable[Origin], sources: Mapping[str, InputDataset]
) -> list[column_lineage_dataset.InputField]:
    """Return the distinct columns among origins, each with all its uses."""
    fields: dict[tuple[str, str], column_lineage_dataset.InputField] = {}
    for stream, column, way, expression in origins:
        source = sources[stream]
        field = column_lineage_dataset.InputField(source.namespace, source.name, column, transformations=[])
        used = fields.setdefault((stream, column), field).transformations
        assert used is not None
        sort = "DIRECT" if way in DIRECT else "INDIRECT"
        used.append(column_lineage_dataset.Transformation(sort, way, expression, masking=False))
    return list(fields.values())


def _facets(layout: Layout, name: str) -> dict[str, DatasetFacet]:
    """Return the facets of a table: storage, columns and version; only storage if it does not exist."""
    if not Tables(layout).has(name):
        return {"storage": _STORAGE}
    table = Tables(layout).open(name)
    version = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=str(table.version()))
    schema = schema_dataset.SchemaDatasetFacet(fields=_fields(json.loads(table.schema().to_json())["fields"]))
    return {"storage": _STORAGE, "version": version, "schema": schema}


def _fields(fields: Iterable[Mapping[str, Any]]) -> list[schema_dataset.SchemaDatasetFacetFields]:
    """Return columns with Delta's names of their types; for nested columns, the outermost type."""
    types = {field["name"]: field["type"] for field in fields}
    return [
        schema_dataset.SchemaDatasetFacetFields(name=name, type=type_ if isinstance(type_, str) else type_["type"])
        for name, type_ in types.items()
    ]


def _interval(correction_range: CorrectionRange) -> dict[str, InputDatasetFacet]:
    """Return the rows of `late` that a correction of an interval of arrival reads: those that arrived in it."""
    if not correction_range.arrival or correction_range.start is None or correction_range.end is None:
        return {}
    ends = (("GREATER_THAN", correction_range.start), ("LESS_EQUAL_THAN", correction_range.end))
    after, until = (_compared("arrived", comparison, format_time(end)) for comparison, end in ends)
    both = base_subset_dataset.BinarySubsetCondition(after, until, "AND")
    return {"subset": base_subset_dataset.InputSubsetInputDatasetFacet(both)}


def _rows_of(
    layout: Layout, correction_range: CorrectionRange, since: datetime | None
) -> dict[str, OutputDatasetFacet]:
    """Return the interval of a correction's rows; and their number, if the ledger has recorded it since then."""
    condition = _compared("interval", "EQUAL", str(correction_range))
    facets: dict[str, OutputDatasetFacet] = {"subset": base_subset_dataset.OutputSubsetOutputDatasetFacet(condition)}
    tables, of_range = Tables(layout), ds.field("interval") == str(correction_range)
    if _has_row_since(tables, "correction_runs", "started_at", since, of_range):
        rows = tables.read("corrections", ["interval"], of_range).num_rows
        facets["outputStatistics"] = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rows)
    return facets


def _has_row_since(tables: Tables, name: str, column: str, since: datetime | None, where: Any = None) -> bool:
    """Test whether a table has a row that fulfils a condition, and whose time is not before the given one."""
    if since is None or not tables.has(name):
        return False
    return any(ms >= since.timestamp() * 1000 for ms in tables.read(name, [column], where)[column].to_pylist())


def _compared(column: str, comparison: str, value: str) -> base_subset_dataset.CompareSubsetCondition:
    field, literal = (
        base_subset_dataset.FieldBaseCompareExpression(column),
        base_subset_dataset.LiteralCompareExpression(value),
    )
    return base_subset_dataset.CompareSubsetCondition(field, literal, comparison)
