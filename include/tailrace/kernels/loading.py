"""Loads the machine code of kernels as functions that Python calls without holding the GIL."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from tailrace.kernels.signature import Kernel, parameters
from tailrace.kernels.target import machine

_ENGINES: list[Any] = []  # they own the code for as long as the process lives


def load(kernels: Iterable[Kernel], code: bytes) -> dict[str, Callable[..., int]]:
    """Return the kernels by name from the object file that `machine_code` made of them."""
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
