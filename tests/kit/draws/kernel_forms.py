"""The two forms of a kernel: compiled code for calls of any size, and numpy alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from unittest import mock

from tailrace.kernels import library
from tailrace.kernels.code_cache import CodeCache
from tailrace.kernels.library import Library
from tailrace.kernels.registry import KERNELS


@cache
def compiled_library() -> Library:
    """The kernels in compiled form, by the cache of this machine, whatever the number of rows."""
    return Library(KERNELS, CodeCache.of_machine(), many_rows=0, some_rows=0, worth_compiling=0)


@contextmanager
def compiled_form() -> Iterator[None]:
    """Take the compiled form of every kernel."""
    assert set(compiled_library().functions(1)) == {kernel.__name__ for kernel in KERNELS}
    with mock.patch.object(library, "OF_PROCESS", compiled_library()):
        yield


@contextmanager
def numpy_form() -> Iterator[None]:
    """Take the numpy form of every kernel."""
    with mock.patch.object(library, "OF_PROCESS", Library((), CodeCache(()), worth_compiling=0)):
        yield
