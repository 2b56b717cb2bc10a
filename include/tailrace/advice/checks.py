"""Runs checks: each returns findings with remedies, within a time limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from tailrace.ground.errors import RIGHT, Refused, with_remedy


class CheckStatus(StrEnum):
    """The result of a check: a warning affects some commands, a fault affects essential ones."""

    ok = "ok"
    warning = "warning"
    fault = "fault"


@dataclass(frozen=True)
class Finding:
    """The result of a check; `remedy` is empty if nothing has to be done."""

    check: str
    status: CheckStatus
    finding: str
    remedy: str = ""

    def to_json(self) -> dict[str, str]:
        return asdict(self)

    def line(self) -> str:
        """Return the finding in a line."""
        remedy = f"; right would be: {self.remedy}" if self.remedy else ""
        return f"{self.status.value:<7} {self.check}: {self.finding}{remedy}"


@dataclass(frozen=True)
class Check:
    """A named check; it returns its findings, or raises an error."""

    name: str
    run: Callable[[], Sequence[Finding]]


def ok(check: str, finding: str) -> Finding:
    return Finding(check, CheckStatus.ok, finding)


def warning(check: str, finding: str, remedy: str) -> Finding:
    return Finding(check, CheckStatus.warning, finding, remedy)


def fault(check: str, finding: str, remedy: str) -> Finding:
    return Finding(check, CheckStatus.fault, finding, remedy)


def run_checks(checks: Sequence[Check], limit_s: float) -> list[Finding]:
    """Run checks in parallel, and return their findings in order; a check that takes too long is a fault.

    A thread that does not end stays, as a daemon. For an unexpected error only the type is shown, as its text may
    contain a secret.
    """
    results: list[list[Finding]] = [[] for _ in checks]
    threads = [
        threading.Thread(target=_run, args=(check, result), daemon=True)
        for check, result in zip(checks, results, strict=True)
    ]
    for thread in threads:
        thread.start()
    end_s = time.monotonic() + limit_s
    findings = list[Finding]()
    for thread, check, result in zip(threads, checks, results, strict=True):
        thread.join(max(0.0, end_s - time.monotonic()))
        late = fault(check.name, f"it was not done within {limit_s:g} s", "a server or a disk that answers; or --limit")
        findings += list(result) or [late]
    return findings


def _run(check: Check, result: list[Finding]) -> None:
    try:
        findings = check.run()
    except Refused as refused:
        findings = [fault(check.name, f"{each.where}: {each.fault}", each.remedy) for each in refused.problems]
    except ConnectionError as error:  # our own error, which contains no secret
        text, _, remedy = with_remedy(error).partition(RIGHT)
        findings = [fault(check.name, text, remedy)]
    except OSError as error:
        findings = [fault(check.name, error.strerror or type(error).__name__, "a file or a server that can be reached")]
    except Exception as error:
        findings = [fault(check.name, f"it failed: {type(error).__name__}", "the command that fails shows the error")]
    result.extend(findings)
