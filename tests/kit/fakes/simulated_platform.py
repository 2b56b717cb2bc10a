"""A platform in memory that runs drivers, and speaks the used part of YARN's and of Kubernetes's HTTP API.

It loses requests and replies, ends drivers late, and may report one dead that lives on, as of a lost machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tailrace.drivers.platform_http import HttpResponse

OUTCOMES = ("done", "done", "done", "request lost", "reply lost", "unavailable")
_NOT_FOUND = HttpResponse(
    404, json.dumps({"RemoteException": {"exception": "NotFoundException"}, "kind": "Status"}).encode()
)


@dataclass(eq=False)
class SimulatedApplication:
    """A submitted driver: what is true of it, and what the platform reports."""

    number: int
    settings: Mapping[str, str]
    alive: bool = True
    ending: bool = False
    reported: str = "running"  # or "succeeded", "failed", "killed"; "gone" where the platform has forgotten it
    exit_code: int | None = None


@dataclass
class SimulatedPlatform:
    """The applications, oldest first.

    `before` is called before each request, and may act as anyone; `outcome` tells what becomes of a request.
    `unique`: no two applications that are there have the same name, as with pods.
    """

    before: Callable[[], None] = lambda: None
    outcome: Callable[[], str] = lambda: "done"
    unique: bool = False
    applications: list[SimulatedApplication] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def submit(self, settings: Mapping[str, str]) -> bool:
        """Start a driver; False where another one has its name."""
        if self.unique and any(one.reported != "gone" for one in self.applications):
            return False
        self.applications.append(SimulatedApplication(len(self.applications), settings))
        return True

    def end(self, application: SimulatedApplication, exit_code: int | None = None) -> None:
        """A driver ends, by itself or as it was requested, and that is reported."""
        application.alive, application.exit_code = False, exit_code
        self.report(application, "failed" if exit_code else "killed" if exit_code is None else "succeeded")

    def report(self, application: SimulatedApplication, state: str) -> None:
        """Report the end of a driver, whether or not it is true."""
        deleted = self.unique and application.ending
        application.reported = "gone" if deleted else state

    def _request_end(self, application: SimulatedApplication) -> None:
        application.ending = True
        if self.unique and application.reported != "running":  # what is left of a pod that has ended is removed
            application.reported = "gone"

    def _requested(self, method: str, url: str, answer: Callable[[], HttpResponse]) -> HttpResponse:
        self.before()
        self.requests.append(f"{method} {url}")
        outcome = self.outcome()
        if outcome == "request lost":
            raise OSError("connection refused")
        if outcome == "unavailable":
            return HttpResponse(503, b"try again")
        result = answer()
        if outcome == "reply lost":
            raise OSError("connection reset")
        return result

    def yarn(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> HttpResponse:
        """Answer as a ResourceManager's REST API."""
        split = urlsplit(url)
        if method == "PUT":
            number = int(split.path.split("/")[-2].rpartition("_")[2])
            return self._requested(method, url, lambda: self._put_state(number, json.loads(body or b"{}")))
        tag = parse_qs(split.query)["applicationTags"][0]
        return self._requested(method, url, lambda: self._list_applications(tag))

    def _put_state(self, number: int, body: dict[str, str]) -> HttpResponse:
        assert body == {"state": "KILLED"}
        application = self.applications[number]
        if application.reported == "gone":
            return _NOT_FOUND
        self._request_end(application)
        return HttpResponse(202, b'{"state": "RUNNING"}')

    def _list_applications(self, tag: str) -> HttpResponse:
        found = [one for one in self.applications if one.reported != "gone"]
        tagged = [_yarn_entry(one) for one in found if tag in one.settings["spark.yarn.tags"].split(",")]
        return HttpResponse(200, json.dumps({"apps": {"app": tagged} if tagged else None}).encode())

    def kubernetes(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> HttpResponse:
        """Answer as an API server, about the pods of one namespace."""
        split = urlsplit(url)
        if method == "DELETE":
            wanted = json.loads(body or b"{}")["preconditions"]["uid"]
            return self._requested(method, url, lambda: self._delete_pod(wanted))
        if split.path.endswith("/log"):
            return self._requested(method, url, lambda: HttpResponse(200, b"its last words\n"))
        label = parse_qs(split.query)["labelSelector"][0].partition("=")[2]
        return self._requested(method, url, lambda: self._list_pods(label))

    def _delete_pod(self, uid: str) -> HttpResponse:
        there = {f"uid-{one.number}": one for one in self.applications if one.reported != "gone"}
        if not there:
            return _NOT_FOUND
        if uid not in there:
            return HttpResponse(409, b"{}")
        self._request_end(there[uid])
        return HttpResponse(200, b"{}")

    def _list_pods(self, label: str) -> HttpResponse:
        name = "spark.kubernetes.driver.label.tailrace-query"
        found = [one for one in self.applications if one.reported != "gone" and one.settings[name] == label]
        return HttpResponse(200, json.dumps({"items": [_pod(one) for one in found]}).encode())


def _yarn_entry(application: SimulatedApplication) -> dict[str, Any]:
    state, final = {
        "running": ("RUNNING", "UNDEFINED"),
        "succeeded": ("FINISHED", "SUCCEEDED"),
        "failed": ("FINISHED", "FAILED"),
        "killed": ("KILLED", "KILLED"),
    }[application.reported]
    code = application.exit_code
    return {
        "id": f"application_1_{application.number:04d}",
        "state": state,
        "finalStatus": final,
        "diagnostics": f"User application exited with {code}" if code else "",
        "applicationTags": application.settings["spark.yarn.tags"],
    }


def _pod(application: SimulatedApplication) -> dict[str, Any]:
    phase = {"running": "Running", "succeeded": "Succeeded"}.get(application.reported, "Failed")
    labels = {
        name.removeprefix("spark.kubernetes.driver.label."): value
        for name, value in application.settings.items()
        if ".label." in name
    }
    name = application.settings["spark.kubernetes.driver.pod.name"]
    code = application.exit_code
    ended = [{"state": {"terminated": {"exitCode": code, "reason": "Error"}}}] if code else []
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if application.ending else {}
    return {
        "metadata": {"name": name, "uid": f"uid-{application.number}", "labels": labels} | deleted,
        "status": {"phase": phase, "containerStatuses": ended},
    }
