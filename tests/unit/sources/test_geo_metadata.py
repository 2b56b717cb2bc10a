"""What Parquet files declare of their geometries: by GeoParquet's metadata, by Parquet's own types, by GeoArrow's."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.ground.errors import Refused
from tailrace.sources.formats.geo_metadata import GeometryMetadata, read_geometry_metadata

MERCATOR = {"name": "WGS 84 / Pseudo-Mercator", "id": {"authority": "EPSG", "code": 3857}}


class Wkb(pa.ExtensionType):
    """GeoArrow's type, which Arrow writes as Parquet's GEOMETRY or GEOGRAPHY."""

    def __init__(self, metadata: str) -> None:
        self.metadata = metadata
        super().__init__(pa.binary(), "geoarrow.wkb")

    def __arrow_ext_serialize__(self) -> bytes:
        return self.metadata.encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Wkb:
        return cls(serialized.decode())


def written(rows: pa.Table) -> pq.ParquetFile:
    sink = io.BytesIO()
    pq.write_table(rows, sink)
    return pq.ParquetFile(io.BytesIO(sink.getvalue()))


def declared(file: pq.ParquetFile) -> GeometryMetadata | None:
    return read_geometry_metadata("t.parquet", file).get("g")


@pytest.fixture
def geoarrow():
    pa.register_extension_type(Wkb("{}"))
    yield lambda metadata: pa.ExtensionArray.from_storage(Wkb(json.dumps(metadata)), pa.array([b""], pa.binary()))
    pa.unregister_extension_type("geoarrow.wkb")


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, GeometryMetadata("OGC:CRS84")),
        ({"crs": "EPSG:3857"}, GeometryMetadata("EPSG:3857")),
        ({"crs": MERCATOR}, GeometryMetadata(MERCATOR)),
        ({"crs": MERCATOR, "edges": "spherical"}, GeometryMetadata(MERCATOR, "spherical")),
        ({"crs": "srid:3857"}, GeometryMetadata("EPSG:3857")),
        ({"crs": "srid:0"}, GeometryMetadata(None)),
        ({"crs": "projjson:mercator"}, GeometryMetadata(MERCATOR)),
        ({"crs": "projjson:absent"}, GeometryMetadata("projjson:absent")),
    ],
)
def test_parquets_own_types(geoarrow, metadata, expected):
    rows, sink = pa.table({"g": geoarrow(metadata)}), io.BytesIO()
    with pq.ParquetWriter(sink, rows.schema, store_schema=False) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata({"mercator": json.dumps(MERCATOR)})
    assert declared(pq.ParquetFile(io.BytesIO(sink.getvalue()))) == expected


def test_geoarrow_without_a_crs_has_an_unknown_one():
    for metadata, expected in (({}, None), ({"crs": MERCATOR}, MERCATOR)):
        of_field = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": json.dumps(metadata)}
        rows = pa.table([pa.array([b""])], pa.schema([pa.field("g", pa.binary(), metadata=of_field)]))
        assert declared(written(rows)) == GeometryMetadata(expected)


@pytest.mark.parametrize("crs", [7, [1]])
def test_a_crs_of_no_form_is_refused_in_geoarrow_too(crs):
    of_field = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": json.dumps({"crs": crs})}
    rows = pa.table([pa.array([b""])], pa.schema([pa.field("g", pa.binary(), metadata=of_field)]))
    with pytest.raises(Refused, match="neither an object nor null"):
        declared(written(rows))


def test_null_edges_and_odd_types_declare_nothing():
    geo = json.dumps({"columns": {"g": {"edges": None, "geometry_types": 5}}})
    assert declared(written(pa.table({"g": [b""]}).replace_schema_metadata({"geo": geo}))) == GeometryMetadata()


def test_geoparquet_comes_before_the_types(geoarrow):
    geo = json.dumps({"columns": {"g": {"crs": MERCATOR}}})
    rows = pa.table({"g": geoarrow({})}).replace_schema_metadata({"geo": geo})
    assert declared(written(rows)) == GeometryMetadata(MERCATOR)


def test_a_file_without_any_declares_nothing():
    assert declared(written(pa.table({"g": [b""]}))) is None


@pytest.mark.parametrize("geo", ["{", "[]", '{"columns": []}', '{"columns": {"g": 1}}'])
def test_metadata_of_another_form_is_refused(geo):
    with pytest.raises(Refused, match="metadata"):
        declared(written(pa.table({"g": [b""]}).replace_schema_metadata({"geo": geo})))
