"""Prepares Airflow before its components start: the password of its user admin, and its database.

AIRFLOW_ADMIN_PASSWORD=… python -m tailrace.orchestration.prepare
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from airflow.configuration import conf

from tailrace.ground.files.atomic_files import write_atomically

VARIABLE = "AIRFLOW_ADMIN_PASSWORD"
REFUSED = 2


def main() -> int:
    """Write the password's file, for this user alone, and migrate the database; return the exit code."""
    password = os.environ.get(VARIABLE)
    if not password:
        print(f"{VARIABLE} is not set: it would be a password that a log shows", file=sys.stderr)
        return REFUSED
    file = Path(conf.get_mandatory_value("core", "simple_auth_manager_passwords_file"))
    write_atomically(file, json.dumps({"admin": password}), 0o600)
    return subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
