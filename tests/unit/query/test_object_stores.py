"""Sources in object stores, as query files declare them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.ground.errors import Refused
from tailrace.ground.files.source_roots import VARIABLE
from tailrace.query.loading import load

TEXT = """
name: load
kind: aggregate
streams:
  readings: {{source: {{format: parquet, path: '{path}', connection: lake}}, event_time: t, id: id}}
window: {{size: 1 s, slide: 1 s}}
aggregate: {{function: count}}
"""


def write(directory: Path, path: str) -> Path:
    file = directory / "load.yaml"
    file.write_text(TEXT.format(path=path))
    return file


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("s3://lake/in/", "s3://lake/in"),
        ("gs://lake/in", "gs://lake/in"),
        ("abfss://in@acc.dfs.core.windows.net/a", "abfss://acc.dfs.core.windows.net/in/a"),
    ],
)
def test_a_source_may_be_a_url_with_a_connection(tmp_path, path, uri):
    stream = load(write(tmp_path, path)).streams["readings"]
    assert (stream.source.path, stream.source.connection) == (path.rstrip("/"), "lake")
    assert stream.uri == uri  # of Airflow's asset: what stands before an @ would be taken for a login


def test_where_a_source_is_may_change_while_a_checkpoint_lives(tmp_path):
    first, other = (load(write(tmp_path, f"s3://{bucket}/in")).structure() for bucket in ("lake", "other"))
    assert first == other


def test_roots_of_sources_leave_out_object_stores(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(Refused, match="lies under no root of sources"):
        load(write(tmp_path, "s3://lake/in"))


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("parquet, path: in, connection: lake", "source.connection: a connection is for a path that is the URL"),
        ("replay, rate: 5, path: 's3://lake/in'", "source.path: s3://lake/in is a URL, and a path is asked for"),
        ("replay, rate: 5, path: in, connection: lake", "source.connection: format replay takes no connection"),
    ],
)
def test_what_is_not_read_from_an_object_store_is_refused(tmp_path, source, wrong):
    file = write(tmp_path, "in")
    file.write_text(file.read_text().replace("parquet, path: 'in', connection: lake", source))
    with pytest.raises(Refused) as refused:
        load(file)
    assert wrong in str(refused.value)
