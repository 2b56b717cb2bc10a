"""YARN as a cluster platform, by its ResourceManager's REST API, with an application tag for each query.

Requests are made as the submitting user: reading applications needs no right, but only their owner may end them. An API
that requires Kerberos refuses the requests, as SPNEGO is not supported.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tailrace.drivers.cluster_platform import Application, PlatformDown
from tailrace.drivers.platform_http import Credentials, Send, ask

_APPS = "/ws/v1/cluster/apps"
_OVER = ("FINISHED", "FAILED", "KILLED")
_START = "tailrace-start-"
_EXIT = re.compile(r"User application exited with (?:status )?(\d+)")  # Spark's words in an application's diagnostics


@dataclass(frozen=True)
class Yarn:
    """The applications of one tag.

    Attributes
    ----------
    tag : str
        An application tag, unique to the query's driver; in lower case, as YARN stores it.
    addresses : tuple of str
        URLs of the ResourceManager's web application; several for high availability.
    """

    tag: str
    addresses: tuple[str, ...]
    send: Send = field(default=Credentials().send, compare=False)

    def applications(self) -> list[Application]:
        """Return the applications with the tag, from the active ResourceManager."""
        answer = self._ask("GET", _APPS, {"applicationTags": self.tag}, ("apps",))
        entries = (answer["apps"] or {}).get("app") or []
        return [_application(entry) for entry in entries if self.tag in _tags(entry)]

    def end(self, application: Application) -> None:
        """Request that an application be killed; YARN answers before it is dead."""
        members = ("state", "RemoteException")  # 404 if it has forgotten the application
        self._ask("PUT", f"{_APPS}/{application.id}/state", {}, members, {"state": "KILLED"})

    def last_lines(self, application: Application) -> str:
        """Return nothing: the lines are on the node, and YARN's message is in the application's detail."""
        return ""

    def submission_settings(self, start: str) -> dict[str, str]:
        """Return the tags, and one attempt: YARN must not restart a driver itself, as the launcher counts restarts."""
        return {
            "spark.yarn.tags": f"{self.tag},{_START}{start}",
            "spark.yarn.maxAppAttempts": "1",
            "spark.yarn.submit.waitAppCompletion": "false",
        }

    def description(self) -> Mapping[str, Any]:
        """Return the addresses and the tag."""
        return {"platform": "yarn", "tag": self.tag, "addresses": list(self.addresses)}

    def _ask(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str],
        members: tuple[str, ...],
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Ask each ResourceManager until one is active: only its answer has one of these members."""
        failures = []
        for address in self.addresses:
            try:
                answer = ask(self.send, method, f"{address}{path}", {**parameters, "user.name": _user()}, body)
            except PlatformDown as error:
                failures.append(str(error))
                continue
            value = answer.json()
            if value is not None and any(member in value for member in members):
                return value
            failures.append(f"{address} gives no answer of an active ResourceManager")
        raise PlatformDown("; ".join(failures))


def _user() -> str:
    return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()  # like Hadoop's client


def _tags(entry: Mapping[str, Any]) -> list[str]:
    return str(entry.get("applicationTags") or "").split(",")


def _application(entry: Mapping[str, Any]) -> Application:
    over = entry["state"] in _OVER
    diagnostics = " ".join(str(entry.get("diagnostics") or "").split())
    exited = _EXIT.search(diagnostics)
    code = int(exited[1]) if exited else 0 if entry.get("finalStatus") == "SUCCEEDED" else None
    state = f"{entry['state']}, {entry.get('finalStatus')}" if over else str(entry["state"])
    parts = [state, *([diagnostics] if diagnostics else []), *([log] if (log := entry.get("amContainerLogs")) else [])]
    start = next((tag.removeprefix(_START) for tag in _tags(entry) if tag.startswith(_START)), "")
    return Application(entry["id"], start, over, code if over else None, "; ".join(parts), blocks=not over)
