"""Compiles kernels by numba into one object file that runs without numba."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tailrace.kernels.signature import Kernel, parameters
from tailrace.kernels.target import machine

_LIBRARY = {"memset", "memcpy", "memmove"}  # every process's C library provides these


def compile_kernels(kernels: Iterable[Kernel]) -> bytes:
    """Compile kernels, each to a function of its name, into an object file for this machine's processor.

    A function takes the address of its result, an unused pointer, and the kernel's parameters: integers and addresses.

    Raises
    ------
    ImportError
        When numba is not installed.
    RuntimeError
        When numba fails to compile a kernel, or a kernel calls anything outside of itself, such as a Python exception.
    """
    import llvmlite.binding as llvm

    target = machine()
    whole = llvm.parse_assembly(f'target triple = "{target.triple}"\n')
    for kernel in kernels:
        whole.link_in(_module(kernel))
    needed = {each.name for each in whole.functions if each.is_declaration}
    if foreign := {name for name in needed if not name.startswith("llvm.")} - _LIBRARY:
        raise RuntimeError(f"kernels call what a process without numba lacks: {', '.join(sorted(foreign))}")
    code: bytes = target.emit_object(whole)
    return code


def _module(kernel: Kernel) -> Any:
    """Compile a kernel's loop alone to an LLVM module, without the wrapper that Python calls."""
    import llvmlite.binding as llvm
    import numba
    from numba.core.errors import NumbaError

    compile_kernel: Any = numba.cfunc
    types: Any = numba.types
    columns = [
        types.int64 if dtype is None else types.CPointer(getattr(types, dtype.name)) for dtype in parameters(kernel)
    ]
    try:
        compiled = compile_kernel(types.int64(*columns), nopython=True, error_model="numpy")(kernel)
    except NumbaError as error:
        raise RuntimeError(f"numba does not compile {kernel.__name__}: {error}") from error
    module = llvm.parse_assembly(compiled.inspect_llvm())
    loop = module.get_function(compiled.native_name.removeprefix("cfunc."))
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and each.name != loop.name:
            each.linkage = "internal"
    loop.name = kernel.__name__
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine(), llvm.create_pipeline_tuning_options()))
    return module
