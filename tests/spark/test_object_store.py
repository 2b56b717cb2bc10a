"""An object store as source of a command of its own: its workers read by the connection of the environment."""

from __future__ import annotations

import subprocess
import sys

import yaml

from kit.parts.object_store import BUCKET, PASSWORD, running_gateway
from kit.runs.local_driver import Driver
from kit.runs.object_streams import answers, declaration, readings, write
from tailrace.ground.files.object_stores import store_of
from tailrace.query.declared import declared_query
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables


def test_a_bounded_run_answers_as_in_process_and_corrects(tmp_path, monkeypatch):
    (tmp_path / "s3").mkdir()
    declared = declaration(f"s3://{BUCKET}/in", "parquet", "lake")
    file = tmp_path / "load.yaml"
    file.write_text(yaml.safe_dump(declared))
    with running_gateway(tmp_path / "s3") as gateway:
        for number in range(2):
            write(readings(400 * number, 400), part := tmp_path / f"part-{number}.parquet")
            gateway.put(f"in/{part.name}", part)
        monkeypatch.setenv("AIRFLOW_CONN_LAKE", gateway.connection())
        store_of.cache_clear()
        command = [sys.executable, "-m", "tailrace", "run", file, "--warehouse", tmp_path / "wh"]
        job = subprocess.run([*command, "--bounded", "--correct"], capture_output=True, text=True, check=False)
        assert job.returncode == 0, job.stderr
        app = Driver(declared_query(declared), tmp_path / "local")
        app.run(flush=True)
    store_of.cache_clear()
    tables = Tables(Layout.for_query(tmp_path / "wh", "load"))
    assert answers(Driver(app.query, tmp_path / "wh")) == answers(app) != []
    assert tables.read("corrections").num_rows
    assert PASSWORD not in job.stdout + job.stderr
    assert not [
        path for path in (tmp_path / "wh").rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()
    ]
