"""The files that differ between a commit and the working tree, as git knows them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tailrace.ground.errors import Problem, Refused

_TRUNKS = ("main", "origin/main")


def base_of(root: Path, since: str | None) -> str:
    """Return the commit to compare with: the one that is asked for, or else where this branch has left main."""
    if since is not None:
        commit = _asked(root, "rev-parse", "--verify", "--quiet", "--end-of-options", since + "^{commit}")
        if commit is None:
            fault = f"git knows no commit {since}"
            raise Refused([Problem("SINCE", fault, "a commit, a branch or a tag of this repository, such as HEAD~2")])
        return commit
    parted = (_asked(root, "merge-base", "HEAD", trunk) for trunk in _TRUNKS)  # on main itself, this is HEAD
    return next((commit for commit in parted if commit is not None), "HEAD")


def changed_since(root: Path, commit: str) -> set[str]:
    """Return the paths that are changed, new, not tracked or gone; of a file that has moved, both its paths."""
    tracked = _git(root, "diff", "--name-only", "--no-renames", "-z", commit, "--")
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return {path for path in (tracked.stdout + new.stdout).split("\0") if path}


def _asked(root: Path, *words: str) -> str | None:
    """Return the answer of git in one line; None where it has none."""
    answer = _git(root, *words, check=False)
    return answer.stdout.strip() if answer.returncode == 0 else None


def _git(root: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *words],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=None if check else subprocess.DEVNULL,
        text=True,
        check=check,
    )
