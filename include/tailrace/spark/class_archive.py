"""The archive of the classes that Spark's JVM loads, with which drivers of this installation start faster.

`make_class_archive` creates it. The JVM maps it into its memory (the JDK's class data sharing), instead of reading and
verifying about twenty thousand classes. It needs the JVM and the class path with which it was created; another JVM
starts without it. Directories on that class path must be empty, so Spark's configuration directory is an empty one
beside the archive, and an option names the log settings.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

CONF = Path(__file__).parent / "conf"
"""Spark's configuration directory when no archive is used."""


@dataclass(frozen=True)
class ClassArchive:
    """The archive of an installation, in its own directory; it need not exist."""

    directory: Path = Path(sys.prefix, "share", "tailrace", "spark-classes")

    @property
    def file(self) -> Path:
        return self.directory / "classes.jsa"

    @property
    def empty_conf(self) -> Path:
        return self.directory / "conf"

    def conf_directory(self, with_archive: bool) -> str:
        """Return Spark's configuration directory for a JVM with or without the archive.

        It is the user's SPARK_CONF_DIR, or ours. A driver sets SPARK_CONF_DIR to ours, which its child processes
        inherit; then it is not the user's.
        """
        value = os.environ.get("SPARK_CONF_DIR")
        if value is not None and value not in (str(self.empty_conf), str(CONF)):
            return value
        return str(self.empty_conf if with_archive and self.empty_conf.is_dir() else CONF)

    @property
    def jvm_options(self) -> str:
        """The options with which a driver's JVM uses the archive; none if the configuration is the user's own."""
        if self.conf_directory(with_archive=True) != str(self.empty_conf):
            return ""
        is_usable = self.file.exists() and os.pathsep not in str(self.file)  # separates two archives in a path
        archive = f'-Xlog:cds*=off "-XX:SharedArchiveFile={self.file}"' if is_usable else ""
        return f"{self.log_option} {archive}".rstrip()

    @property
    def log_option(self) -> str:
        """The JVM option that names Spark's log settings, which are not on its class path."""
        return f"-Dlog4j2.configurationFile={(CONF / 'log4j2.properties').as_uri()}"
