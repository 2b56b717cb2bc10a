"""The parts of an Airflow on one machine, as `airflow standalone` runs them, but without its log servers.

    python -m tailrace.orchestration.airflow_parts

Those listen on all addresses, and no setting changes it. They are for logs of other machines: on one, the API server
reads the files itself. Ends when a part does, or by SIGINT or SIGTERM, and ends every part then.
"""

from __future__ import annotations

import signal
import subprocess
import sys

_AIRFLOW = (sys.executable, "-m", "airflow")
PARTS = (("scheduler", "--skip-serve-logs"), ("triggerer", "--skip-serve-logs"), ("dag-processor",), ("api-server",))
_LOOK_S, _END_S = 0.5, 20.0


def main() -> int:
    """Bring the database up to date, start each part, and wait for the first that ends; returns its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)  # also where whoever started it ignores Ctrl-C
    parts: dict[str, subprocess.Popen[bytes]] = {}
    try:
        subprocess.run([*_AIRFLOW, "db", "migrate"], check=True)
        for words in PARTS:
            parts[words[0]] = subprocess.Popen([*_AIRFLOW, *words])
        while True:
            for name, part in parts.items():
                try:
                    code = part.wait(_LOOK_S)
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
                part.wait(_END_S)
            except subprocess.TimeoutExpired:
                part.kill()


if __name__ == "__main__":
    sys.exit(main())
