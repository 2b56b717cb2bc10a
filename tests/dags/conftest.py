"""Airflow's own home for these tests."""

from __future__ import annotations

import airflow_home

assert airflow_home.HOME
