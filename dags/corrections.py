"""Airflow finds a DAG correct_<query> here for each declared query."""

from __future__ import annotations

from tailrace.orchestration.correction_dags import correction_dags

globals().update(correction_dags())
