"""Gives Airflow a temporary home before any test of the DAG files imports it."""

from __future__ import annotations

import airflow_home

assert airflow_home.HOME
