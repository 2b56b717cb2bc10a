"""Runs the components of Airflow on one machine, as `airflow standalone` does, but without log servers.

    python -m tailrace.orchestration.airflow_parts

The log servers listen on all addresses, and no setting changes that. They serve the logs of other machines; on one
machine the API server reads the files itself. When a component ends, or by SIGINT or SIGTERM, all components end.
"""

from __future__ import annotations

import signal
import subprocess
import sys

_AIRFLOW = (sys.executable, "-m", "airflow")
PARTS = (("scheduler", "--skip-serve-logs"), ("triggerer", "--skip-serve-logs"), ("dag-processor",), ("api-server",))
_POLL_S, _TERMINATION_S = 0.5, 20.0


def main() -> int:
    """Migrate the database, start each component, and wait for the first that ends.

    Returns
    -------
    int
        The exit code of that component, 1 in place of 0; 0 after SIGINT or SIGTERM.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)  # also where the parent process ignores Ctrl-C
    parts: dict[str, subprocess.Popen[bytes]] = {}
    try:
        subprocess.run([*_AIRFLOW, "db", "migrate"], check=True)
        for arguments in PARTS:
            parts[arguments[0]] = subprocess.Popen([*_AIRFLOW, *arguments])
        while True:
            for name, part in parts.items():
                try:
                    code = part.wait(_POLL_S)
                except subprocess.TimeoutExpired:
                    continue
                print(f"Airflow's {name} ended with exit code {code}: all of it ends", flush=True)
                return code or 1
    except KeyboardInterrupt:
        return 0
    finally:
        for part in parts.values():
            part.terminate()
        for part in parts.values():
            try:
                part.wait(_TERMINATION_S)
            except subprocess.TimeoutExpired:
                part.kill()


if __name__ == "__main__":
    sys.exit(main())
