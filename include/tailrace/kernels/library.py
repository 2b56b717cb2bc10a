"""The compiled kernels of a process, loaded without numba once enough rows come."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from threading import Lock
from typing import Any, ParamSpec

import numpy as np

from tailrace.kernels.code_cache import CodeCache, file_name
from tailrace.kernels.machine_code import compile_kernels
from tailrace.kernels.registry import KERNELS
from tailrace.kernels.signature import Kernel, parameters
from tailrace.kernels.target import machine

P = ParamSpec("P")
Functions = dict[str, Callable[..., int]]

MANY_ROWS, SOME_ROWS = 1 << 15, 1 << 10
"""Rows in one call from which it pays off to load the compiled code (40 ms), and to call it once it is loaded."""

WORTH_COMPILING = 1 << 24
"""Rows processed in numpy after which a process compiles the kernels (in seconds), for itself and all later processes.
"""

_LOG = logging.getLogger(__name__)


class Library:
    """The compiled kernels of a process.

    They come from the cache, or are compiled into it after many rows were processed in numpy. Without a compiler or a
    writable cache there are none.

    Attributes
    ----------
    many_rows, some_rows : int
        See `MANY_ROWS`.
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        cache: CodeCache,
        many_rows: int = MANY_ROWS,
        some_rows: int = SOME_ROWS,
        worth_compiling: int = WORTH_COMPILING,
    ) -> None:
        self.kernels, self.cache = tuple(kernels), cache
        self.many_rows, self.some_rows, self._rows_left = many_rows, some_rows, worth_compiling
        self._functions: Functions | None = None
        self._lock = Lock()

    @cached_property
    def file_name(self) -> str:
        """The name of the kernels' machine code in the cache."""
        return file_name(self.kernels)

    def functions(self, rows: int) -> Functions:
        """Return the compiled kernels by name for a call with `rows` rows; empty if it should do without them."""
        if rows < (self.many_rows if self._functions is None else self.some_rows):
            return {}
        if self._functions is None:
            with self._lock:
                if self._functions is None:
                    self._functions = self._find(rows)
        return self._functions or {}

    def _find(self, rows: int) -> Functions | None:
        """Return the kernels; {} if they are unavailable, None while compiling them does not pay off."""
        try:
            code = self.cache.read(self.file_name)
            self._rows_left -= rows
            if code is None and self._rows_left > 0:
                return None
            if code is None and not self.cache.is_writable():
                raise OSError(f"none of {', '.join(map(str, self.cache.directories))} can be written")
            return load(self.kernels, self.compile() if code is None else code)
        except (ImportError, OSError, RuntimeError) as error:
            _LOG.info("columns are computed by numpy, as there are no compiled kernels: %s", error)
            return {}

    def compile(self) -> bytes:
        """Compile the kernels and write their machine code into the cache if it is writable."""
        code = compile_kernels(self.kernels)
        self.cache.write(self.file_name, code)
        return code


OF_PROCESS = Library(KERNELS, CodeCache.of_machine())
"""The kernels of this process."""


def compiled(kernel: Callable[P, int], rows: int) -> Callable[P, int] | None:
    """Return the compiled form of a kernel for a call with `rows` rows; None if numpy is to be used."""
    return OF_PROCESS.functions(rows).get(kernel.__name__)


_ENGINES: list[Any] = []  # they own the code for as long as the process lives


def load(kernels: Iterable[Kernel], code: bytes) -> dict[str, Callable[..., int]]:
    """Return the kernels by name, from an object file made by `machine_code`."""
    import llvmlite.binding as llvm

    target = machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(f'target triple = "{target.triple}"\n'), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _ENGINES.append(engine)
    return {kernel.__name__: _function(kernel, engine.get_function_address(kernel.__name__)) for kernel in kernels}


def _function(kernel: Kernel, address: int) -> Callable[..., int]:
    """Return the function at an address, which takes the parameters of a kernel."""
    dtypes = parameters(kernel)
    types = [ctypes.c_int64 if dtype is None else ctypes.c_void_p for dtype in dtypes]
    native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p, *types)(address)
    return partial(_call, native, dtypes)


def _call(native: Callable[..., int], dtypes: list[np.dtype[Any] | None], *arguments: Any) -> int:
    result = ctypes.c_int64()
    pairs = zip(dtypes, arguments, strict=True)
    values = [argument if dtype is None else _address(argument, dtype) for dtype, argument in pairs]
    native(ctypes.byref(result), None, *values)
    return result.value


def _address(column: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> int:
    """Return the address of a column's values.

    Raises
    ------
    TypeError
        When the values have another type or are not contiguous; compiled code does not check.
    """
    if column.dtype != dtype or not column.flags.c_contiguous:
        raise TypeError(f"a kernel takes contiguous {dtype}, not {column.dtype} with strides {column.strides}")
    return int(column.ctypes.data)
