"""The library of kernels: loaded where it is worth it, and done without where it can't be had."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tailrace.kernels import compile as compile_module
from tailrace.kernels import library
from tailrace.kernels.arrival_ticks import number_ticks
from tailrace.kernels.code_cache import CodeCache
from tailrace.kernels.library import Library
from tailrace.kernels.machine_code import compile_kernels
from tailrace.kernels.signature import Ints


def library_of(cache: Path, **settings: int) -> Library:
    return Library((number_ticks,), CodeCache((cache,)), **{"many_rows": 100, "some_rows": 10} | settings)


def ends(functions: library.Functions) -> list[int]:
    """The ends of two ticks by the compiled loop."""
    tick, end = np.empty(2, np.int64), np.empty(2, np.int64)
    functions["number_ticks"](2, 100, np.array([5, 205]), tick, end)
    return end.tolist()


def test_few_rows_load_nothing_and_are_worth_a_call_once_it_is_loaded(tmp_path: Path) -> None:
    kernels = library_of(tmp_path)
    kernels.compile()
    assert kernels.functions(99) == {}
    assert ends(kernels.functions(100)) == [100, 300]
    assert ends(kernels.functions(10)) == [100, 300]
    assert kernels.functions(9) == {}


def test_a_process_compiles_once_so_many_rows_have_come_and_the_next_one_loads(tmp_path: Path) -> None:
    kernels = library_of(tmp_path, worth_compiling=250)
    assert kernels.functions(100) == {} == kernels.functions(100)
    assert not list(tmp_path.iterdir())
    assert ends(kernels.functions(100)) == [100, 300]
    assert ends(library_of(tmp_path).functions(100)) == [100, 300]


def test_what_another_process_has_compiled_meanwhile_is_loaded(tmp_path: Path) -> None:
    kernels = library_of(tmp_path)
    assert kernels.functions(100) == {}
    library_of(tmp_path).compile()
    assert ends(kernels.functions(100)) == [100, 300]


def test_without_a_cache_that_takes_them_numpy_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(library, "compile_kernels", lambda _: pytest.fail("each process would compile again"))
    (tmp_path / "file").touch()
    caplog.set_level("INFO")
    kernels = library_of(tmp_path / "file", worth_compiling=0)
    assert kernels.functions(100) == {} == kernels.functions(100)
    assert [record.getMessage() for record in caplog.records] == [
        f"columns are computed by numpy, as there are no compiled kernels: none of {tmp_path / 'file'} can be written"
    ]


@pytest.mark.parametrize("missing", ["numba", "llvmlite"])
def test_without_numba_or_llvm_numpy_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    if missing == "llvmlite":  # imported again it would stay, half empty, in the place of what others have imported
        monkeypatch.delitem(sys.modules, "llvmlite.binding", raising=False)
    assert library_of(tmp_path, worth_compiling=0).functions(100) == {}


def test_a_disk_that_fills_up_costs_no_more_than_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = library_of(tmp_path, worth_compiling=0)
    monkeypatch.setattr(CodeCache, "is_writable", lambda _: True)
    monkeypatch.setattr(CodeCache, "write", lambda *_: None)
    assert ends(kernels.functions(100)) == [100, 300]


def grows(n: int, out: Ints) -> int:
    """A loop that needs Python's memory."""
    return len([n for _ in range(n)]) + out[0]


def fails(n: int, out: Ints) -> int:
    """A loop that raises an exception of Python's."""
    if out[0] > n:
        raise ValueError(n)
    return n


@pytest.mark.parametrize("kernel", [grows, fails])
def test_a_loop_that_needs_python_is_refused_as_no_process_could_load_it(kernel) -> None:
    with pytest.raises(RuntimeError, match="kernels call what a process without numba lacks"):
        compile_kernels((kernel,))


def test_compiled_code_takes_columns_of_its_types_alone(tmp_path: Path) -> None:
    kernels = library_of(tmp_path, worth_compiling=0).functions(100)
    tick, end = np.empty(2, np.int64), np.empty(2, np.int64)
    with pytest.raises(TypeError, match="a kernel takes contiguous int64, not int32"):
        kernels["number_ticks"](2, 100, np.array([5, 205], np.int32), tick, end)
    with pytest.raises(TypeError, match="contiguous int64, not int64 with strides"):
        kernels["number_ticks"](2, 100, np.array([5, 0, 205, 0])[::2], tick, end)


@pytest.mark.needs("long")
def test_the_program_compiles_into_the_cache_or_says_why_not(tmp_path: Path) -> None:
    assert compile_module.main(CodeCache((tmp_path / "cache",))) is None
    (file,) = (tmp_path / "cache").iterdir()
    assert compile_module.main(CodeCache((file.parent,))) is None
    assert "can be written" in str(compile_module.main(CodeCache((file,))))


@pytest.mark.needs("process")
def test_a_process_that_loads_kernels_imports_no_numba() -> None:
    code = """if True:
        import sys
        from kit.draws.kernel_forms import compiled_library
        assert not {"numba", "llvmlite"} & sys.modules.keys()
        assert compiled_library().functions(1)
        assert "numba" not in sys.modules and "llvmlite.binding" in sys.modules
    """
    from kit.draws.kernel_forms import compiled_library

    assert compiled_library().functions(1)  # it is in the cache
    path = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, check=True)
