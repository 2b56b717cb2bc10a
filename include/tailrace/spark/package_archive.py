"""The package tailrace as a zip file, which Spark sends to its executors on other hosts.

They need what the package imports (the environment of `uv.lock`) at the driver's path; the package itself comes from
the driver, so that executors never run another version than it does.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import tailrace

NAME = "tailrace_package.zip"


@contextmanager
def package_archive() -> Iterator[Path]:
    """A zip file of the package's modules, as they are installed here; it is removed at the end of the block.

    A driver that was itself started from such a file, in deploy mode `cluster`, passes that one on.
    """
    assert tailrace.__file__ is not None
    root = Path(tailrace.__file__).parent
    if root.parent.name == NAME:
        yield root.parent
        return
    with TemporaryDirectory(prefix="tailrace-") as directory:
        path = Path(directory, NAME)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(root.rglob("*.py")):
                archive.write(file, Path(root.name, file.relative_to(root)))
        yield path
