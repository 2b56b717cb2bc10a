"""Compiles the kernels ahead of time for this installation and this machine's processor.

Run it as `python -m tailrace.kernels.compile`. On failure it prints the reason and exits with code 1.
"""

from __future__ import annotations

import sys

from tailrace.kernels.code_cache import CodeCache
from tailrace.kernels.library import Library
from tailrace.kernels.registry import KERNELS


def main(cache: CodeCache | None = None) -> str | None:
    """Compile the kernels into the cache of this machine; return the reason if that fails, else None."""
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
