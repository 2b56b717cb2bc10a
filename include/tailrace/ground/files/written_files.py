"""Records of files that workers wrote; the driver adds these files to a table's log."""

from __future__ import annotations

import pyarrow as pa

FILES = pa.schema({"path": pa.string(), "size": pa.int64(), "rows": pa.int64()})
"""The schema of the records; paths are relative to the table."""
