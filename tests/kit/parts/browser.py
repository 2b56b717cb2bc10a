"""What a browser that knows a supervisord's password, or is led to it by another page, gets of its HTTP server."""

from __future__ import annotations

import httpx

from kit.suite.waiting import PATIENCE_S

PAGES = (
    "",
    "index.html",
    "index.html?action=stopall",
    "index.html?processname=flights&action=stop",
    "tail.html?processname=flights",
    "logtail/flights",
    "mainlogtail",
    "stylesheets/supervisor.css",
    "RPC2",
)
_STOP = "<methodCall><methodName>supervisor.stopAllProcesses</methodName></methodCall>"


def answers_to_browsers(url: str, user: str, password: str) -> dict[str, set[int]]:
    """The status of each page, with the password and without it, and of a form that another page sends."""
    patient = {"base_url": url, "timeout": PATIENCE_S}
    with httpx.Client(**patient, auth=(user, password)) as known, httpx.Client(**patient) as unknown:
        answers = {page: {client.get(f"/{page}").status_code for client in (known, unknown)} for page in PAGES}
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"):
            answers[kind] = {known.post("/RPC2", content=_STOP, headers={"content-type": kind}).status_code}
        answers["no type"] = {known.post("/RPC2", content=_STOP.encode()).status_code}
        return answers
