"""An archive of the classes that Spark's JVM loads, by which a driver's JVM starts with about half the CPU time.

`make_class_archive` makes it, once for an installation. The JVM maps it into its memory (the JDK's class data sharing),
where it would read and verify some twenty thousand classes. It takes an archive only of its own version and class path,
and starts without it otherwise. No directory on that class path may hold files: so Spark's configuration directory is
an empty one beside the archive, and its log settings are named by an option.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

CONF = Path(__file__).parent / "conf"
"""Spark's configuration directory where there is no archive."""

QUIET = f"-Xlog:cds*=off -Dlog4j2.configurationFile={(CONF / 'log4j2.properties').as_uri()}"
"""JVM options: nothing about an archive that does not fit, and the log settings, which are on no class path then."""


@dataclass(frozen=True)
class ClassArchive:
    """The archive of an installation, in a directory of its own; it need not exist."""

    directory: Path = Path(sys.prefix, "share", "tailrace", "spark-classes")

    @property
    def file(self) -> Path:
        return self.directory / "classes.jsa"

    @property
    def empty_conf(self) -> Path:
        return self.directory / "conf"

    @property
    def conf_directory(self) -> str:
        """Spark's configuration directory for a driver: the user's own, where SPARK_CONF_DIR is set."""
        return os.environ.get("SPARK_CONF_DIR", str(self.empty_conf if self.file.exists() else CONF))

    @property
    def jvm_options(self) -> str:
        """The options by which a driver's JVM uses it; none without it, or if the configuration is the user's own."""
        if not self.file.exists() or self.conf_directory != str(self.empty_conf):
            return ""
        return f"-XX:SharedArchiveFile={self.file} {QUIET}"
