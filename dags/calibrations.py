"""Airflow finds a DAG calibrate_<query> here for each declared query."""

from __future__ import annotations

from tailrace.orchestration.calibration_dags import calibration_dags

globals().update(calibration_dags())
