"""Guards of the room `kernels`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "kernels: ticks that fall are left to numpy",
        "kernels/tick_partials.py",
        "if start > 0 and this < tick[start - 1]:",
        "if False:",
        ("tests/unit/kernels/test_tick_partials.py",),
    ),
    Mutation(
        "kernels: few rows load nothing",
        "kernels/library.py",
        "if rows < (self.many_rows if self._functions is None else self.some_rows):",
        "if False:",
        ("tests/unit/kernels/test_library.py",),
    ),
    Mutation(
        "kernels: without a cache no process compiles them",
        "kernels/library.py",
        "if code is None and not self.cache.is_writable():",
        "if False:",
        ("tests/unit/kernels/test_library.py",),
    ),
    Mutation(
        "kernels: columns of their types alone",
        "kernels/loading.py",
        "if column.dtype != dtype or not column.flags.c_contiguous:",
        "if False:",
        ("tests/unit/kernels/test_library.py",),
    ),
    Mutation(
        "kernels: no call of what a process lacks",
        "kernels/machine_code.py",
        'if foreign := {name for name in needed if not name.startswith("llvm.")} - _LIBRARY:',
        "if foreign := set():",
        ("tests/unit/kernels/test_library.py",),
    ),
    Mutation(
        "kernels: machine code of another processor is not loaded",
        "kernels/code_cache.py",
        "[description(), *sources]",
        "sources",
        ("tests/unit/kernels/test_code_cache.py",),
    ),
    Mutation(
        "kernels: damaged machine code is not loaded",
        "kernels/code_cache.py",
        "if sha256(content[_DIGEST_BYTES:]).digest() == content[:_DIGEST_BYTES]:",
        "if True:",
        ("tests/unit/kernels/test_code_cache.py",),
    ),
)
