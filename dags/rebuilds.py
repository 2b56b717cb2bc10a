"""Airflow finds a DAG rebuild_<query> here for each declared query."""

from __future__ import annotations

from tailrace.orchestration.rebuild_dags import rebuild_dags

globals().update(rebuild_dags())
