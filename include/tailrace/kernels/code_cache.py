"""The cache of compiled kernels: one file for each combination of source, processor and compiler.

The set-up writes it into the installation, beside the archive of Spark's classes. A process that may not write there
(the package was installed from an index) uses the user's cache directory.
"""

from __future__ import annotations

import inspect
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

from tailrace.kernels import machine_code, signature
from tailrace.kernels.signature import Kernel
from tailrace.kernels.target import description

_DIGEST_BYTES = 32


@dataclass(frozen=True)
class CodeCache:
    """Directories that may hold the machine code of kernels, the first one first."""

    directories: tuple[Path, ...]

    @staticmethod
    def of_machine() -> CodeCache:
        """Return the cache directories of this installation and of this user."""
        directories = [Path(sys.prefix, "share", "tailrace", "kernels")]
        with suppress(RuntimeError):  # the user has no home
            caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
            directories.append(Path(caches, "tailrace", "kernels"))
        return CodeCache(tuple(directories))

    def read(self, name: str) -> bytes | None:
        """Return the machine code of this name; None if there is none, or it is damaged."""
        for directory in self.directories:
            with suppress(OSError):
                content = (directory / name).read_bytes()
                if sha256(content[_DIGEST_BYTES:]).digest() == content[:_DIGEST_BYTES]:
                    return content[_DIGEST_BYTES:]
        return None

    def write(self, name: str, code: bytes) -> Path | None:
        """Write machine code into the first writable directory; return None without one."""
        for directory in self.directories:
            with suppress(OSError):
                directory.mkdir(parents=True, exist_ok=True)
                with NamedTemporaryFile(dir=directory, prefix=".", delete=False) as file:
                    temporary = Path(file.name)
                    try:
                        file.write(sha256(code).digest() + code)
                        file.close()
                        temporary.chmod(0o644)  # an installation is for all its users
                        return temporary.replace(directory / name)
                    finally:
                        temporary.unlink(missing_ok=True)
        return None

    def is_writable(self) -> bool:
        """Return whether files can be written into a directory."""
        return self.write(".writable", b"") is not None


def file_name(kernels: tuple[Kernel, ...]) -> str:
    """Return the name of the file with the machine code of kernels.

    It depends on their source, the compiler and the processor.

    Raises
    ------
    ImportError
        When the compiler is not installed.
    OSError
        When the source is not available, such as in a frozen program.
    """
    loops = [inspect.getmodule(kernel) for kernel in kernels]
    modules = dict.fromkeys([signature, machine_code, *loops])
    sources = [inspect.getsource(module) for module in modules if module is not None]
    content = "\0".join([description(), *sources])  # a version of numba needs one version of LLVM
    return f"{sha256(content.encode()).hexdigest()[:32]}.o"
