"""Kubernetes as a cluster platform: driver pods with one label, through the API server.

All driver pods of a query have the same name, so that the API server never creates a second one while one exists. A pod
is never removed by force: the pod of a lost node stays until the node is back, or somebody removes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from tailrace.drivers.cluster_platform import Application, PlatformDown
from tailrace.drivers.platform_http import NOT_FOUND, OK, Credentials, Send, ask

_QUERY, _START = "tailrace-query", "tailrace-start"
_OVER = ("Succeeded", "Failed")
_GRACE_S = 5
_LINES = 50


@dataclass(frozen=True)
class Kubernetes:
    """The driver pods of one label.

    Attributes
    ----------
    tag : str
        The label's value, unique to the query's driver.
    api : str
        URL of the API server.
    """

    tag: str
    api: str
    namespace: str
    credentials: Credentials = field(default_factory=Credentials)
    sender: Send | None = field(default=None, compare=False)

    def applications(self) -> list[Application]:
        """Return the pods with the label. A finished pod blocks the next start, too, as it has the name."""
        value = self._ask("GET", "", {"labelSelector": f"{_QUERY}={self.tag}"})
        if value is None or not isinstance(value.get("items"), list):
            raise PlatformDown(f"{self.api} gives no list of pods of the namespace {self.namespace}")
        return [_application(pod) for pod in value["items"]]

    def end(self, application: Application) -> None:
        """Request the deletion of this pod; a later pod of the same name is left alone."""
        name, _, uid = application.id.partition("/")
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": _GRACE_S}
        self._ask("DELETE", f"/{quote(name)}", {}, {**body, "preconditions": {"uid": uid}})

    def last_lines(self, application: Application) -> str:
        """Return the last lines of the pod's log."""
        name = application.id.partition("/")[0]
        answer = ask(self._send, "GET", f"{self._pods}/{quote(name)}/log", {"tailLines": str(_LINES)})
        return answer.body.decode(errors="replace") if answer.status == OK else ""

    def submission_settings(self, start: str) -> dict[str, str]:
        """Return the pod's name and labels."""
        return {
            "spark.kubernetes.driver.pod.name": f"{self.tag}-driver",
            f"spark.kubernetes.driver.label.{_QUERY}": self.tag,
            f"spark.kubernetes.driver.label.{_START}": start,
            "spark.kubernetes.submission.waitAppCompletion": "false",
        }

    def description(self) -> Mapping[str, Any]:
        """Return the address, the namespace, the label, and the names of the files with credentials."""
        files = {name: value for name, value in vars(self.credentials).items() if value}
        where = {"platform": "kubernetes", "tag": self.tag, "api": self.api, "namespace": self.namespace}
        return {**where, "credentials": files}

    @property
    def _pods(self) -> str:
        return f"{self.api}/api/v1/namespaces/{quote(self.namespace)}/pods"

    @property
    def _send(self) -> Send:
        return self.sender or self.credentials.send

    def _ask(
        self, method: str, path: str, parameters: Mapping[str, str], body: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | None:
        answer = ask(self._send, method, f"{self._pods}{path}", parameters, body)
        return None if answer.status == NOT_FOUND else answer.json()


def _application(pod: Mapping[str, Any]) -> Application:
    metadata, status = pod["metadata"], pod.get("status") or {}
    phase = str(status.get("phase", "Unknown"))
    over = phase in _OVER
    ends = [container.get("state", {}).get("terminated") for container in status.get("containerStatuses") or []]
    codes = [end["exitCode"] for end in ends if end and "exitCode" in end]
    code = 0 if phase == "Succeeded" else codes[0] if codes else None
    reasons = [status.get("reason"), status.get("message"), *(end.get("reason") for end in ends if end)]
    deleting = ["being deleted"] if metadata.get("deletionTimestamp") else []
    detail = ", ".join([phase, *deleting, *(str(reason) for reason in reasons if reason)])
    start = (metadata.get("labels") or {}).get(_START, "")
    return Application(f"{metadata['name']}/{metadata['uid']}", start, over, code if over else None, detail, True)
