"""The package tailrace as a zip file, which Spark sends to its executors on other hosts.

They need the package's dependencies (the environment of `uv.lock`) at the driver's path. The package itself comes from
the driver, so that executors always run the driver's version.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

NAME = "tailrace_package.zip"


@contextmanager
def package_archive() -> Iterator[Path]:
    """Yield a zip file of the package's modules, as installed here; it is removed at the end of the block.

    A driver started from such a file, in deploy mode `cluster`, passes on that one.
    """
    root = Path(__file__).parents[1]
    if root.parent.name == NAME:
        yield root.parent
        return
    with TemporaryDirectory(prefix="tailrace-") as directory:
        path = Path(directory, NAME)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(root.rglob("*.py")):
                archive.write(file, Path(root.name, file.relative_to(root)))
        yield path
