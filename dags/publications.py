"""Airflow finds a DAG publish_<query> here for each declared query."""

from __future__ import annotations

from tailrace.orchestration.publish_dags import publish_dags

globals().update(publish_dags())
