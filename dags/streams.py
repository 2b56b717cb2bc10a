"""Airflow finds a DAG stream_<query> here for each declared query."""

from __future__ import annotations

from tailrace.orchestration.stream_dags import stream_dags

globals().update(stream_dags())
