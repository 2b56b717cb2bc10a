"""The processor that kernels are compiled for: this machine's own, with all its instructions."""

from __future__ import annotations

from typing import Any


def machine() -> Any:
    """Return LLVM's target machine, with which kernels are both compiled and loaded."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=_features(), opt=3, codemodel="jitdefault", jit=True
    )


def description() -> str:
    """Return in words the dependencies of machine code besides its source: LLVM, the platform and the processor."""
    import llvmlite
    import llvmlite.binding as llvm

    return " ".join((llvmlite.__version__, llvm.get_default_triple(), llvm.get_host_cpu_name(), _features()))


def _features() -> str:
    import llvmlite.binding as llvm

    return str(llvm.get_host_cpu_features().flatten())
