"""Compiles the kernels for this installation and this machine's processor, so that no process has to.

As a program, `python -m tailrace.kernels.compile`, it prints why there are none where it makes none, and ends with 1.
"""

from __future__ import annotations

import sys

from tailrace.kernels.code_cache import CodeCache
from tailrace.kernels.library import Library
from tailrace.kernels.registry import KERNELS


def main(cache: CodeCache | None = None) -> str | None:
    """Compile the kernels into the cache of this machine; returns what is wrong, None where they are there."""
    library = Library(KERNELS, cache or CodeCache.of_machine())
    try:
        if library.cache.read(library.file_name) is None:
            library.compile()
    except (ImportError, OSError, RuntimeError) as error:
        return f"the kernels were not compiled: {error}"
    if library.cache.read(library.file_name) is None:
        return f"the kernels were not kept: none of {', '.join(map(str, library.cache.directories))} can be written"
    return None


if __name__ == "__main__":
    sys.exit(main())
