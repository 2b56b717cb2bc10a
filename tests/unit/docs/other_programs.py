"""Checks of the command lines of other programs that pages have, without those programs."""

from __future__ import annotations

import re
import tomllib

import yaml

from kit.suite.doc_pages import ROOT, WRITTEN

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys()
SERVICES = yaml.safe_load((ROOT / "docker-compose.yaml").read_text())["services"].keys()
COMPOSE = {
    "up": {"--build", "--wait", "--detach", "-d"},
    "down": {"--volumes", "-v"},
    "build": set(),
    "logs": {"--follow", "-f"},
    "ps": set(),
    "restart": set(),
}
"""The commands of `docker compose` that a page may have, and the options of each; what follows is services."""
_ENVIRONMENT = {*re.findall(r"`(TAILRACE_\w+)`", WRITTEN["docs/environment.md"])}


def unknown_extras(text: str) -> set[str]:
    """Return the extras of tailrace in a text that pyproject.toml lacks."""
    return {extra for each in re.findall(r"\btailrace\[([^\]\n]*)\]", text) for extra in each.split(",")} - EXTRAS


def check(parts: list[str]) -> bool:
    """Hold a command line against this repository; return whether its program is known here."""
    match parts:
        case ["pip", "install", *packages]:
            wrong = [each for each in packages if not re.fullmatch(r"[a-z][\w-]*(\[[a-z,]+\])?", each)]
            assert not wrong, f"{wrong} are no names of packages with extras"
        case ["docker", "compose", command, *rest]:
            assert command in COMPOSE, f"compose {command} is none of {[*COMPOSE]}"
            wrong = [each for each in rest if each not in COMPOSE[command] | SERVICES]
            assert not wrong, f"compose {command}: {wrong} are neither its options nor services"
        case ["export", setting]:
            name, has_value, _ = setting.partition("=")
            assert has_value, f"{name} has no value"
            assert name.startswith("AIRFLOW_") or name in _ENVIRONMENT, f"docs/environment.md has no {name}"
        case ["cp", source, _]:
            assert (ROOT / source).exists(), f"no file {source}"
        case ["cd" | ".", _] | ["git", *_]:
            pass
        case _:
            return False
    return True
