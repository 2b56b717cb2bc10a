"""Describes the package to Airflow as a provider: connection type, hook, operators, links."""

from __future__ import annotations

from typing import Any

_ROOM = "tailrace.orchestration"
_NAME = "tailrace"


def get_provider_info() -> dict[str, Any]:
    """Return the description for Airflow's entry point `apache_airflow_provider`.

    Each process of Airflow calls it at its start, so it imports nothing.
    """
    operators = ("stream_operators", "publish_operator", "correction_operators", "calibration_operators")
    return {
        "package-name": _NAME,
        "name": _NAME,
        "description": "Continuous queries over out-of-order streams: drivers, corrections, calibrations",
        "integrations": [{"integration-name": _NAME, "external-doc-url": "", "tags": ["software"]}],
        "operators": [{"integration-name": _NAME, "python-modules": [f"{_ROOM}.{module}" for module in operators]}],
        "hooks": [{"integration-name": _NAME, "python-modules": [f"{_ROOM}.driver_host_hook"]}],
        "triggers": [
            {
                "integration-name": _NAME,
                "python-modules": [f"{_ROOM}.{m}" for m in ("triggers", "gap_trigger", "commit_trigger")],
            }
        ],
        "connection-types": [
            {
                "hook-class-name": f"{_ROOM}.driver_host_hook.DriverHostHook",
                "hook-name": "tailrace driver host",
                "connection-type": "tailrace_driver_host",
                "ui-field-behaviour": _BEHAVIOUR,
                "conn-fields": _FIELDS,
            }
        ],
        "notifications": [f"{_ROOM}.notifiers.HttpNotifier"],
        "extra-links": [f"{_ROOM}.links.{name}" for name in ("StreamLink", "DriverLogLink", "TablesLink")],
    }


_FIELDS = {
    "programs": {
        "label": "Programs",
        "description": "The directory whose *.conf supervisord includes, by its absolute path on Airflow's machines.",
        "schema": {"type": ["string", "null"]},
    }
}
_BEHAVIOUR = {
    "hidden-fields": [],
    "relabeling": {
        "schema": "http, or https where TLS stands before it",
        "login": "User of its HTTP server",
        "password": "Password of its HTTP server",
    },
    "placeholders": {"host": "127.0.0.1", "port": "9001", "programs": "/etc/tailrace/programs"},
}
