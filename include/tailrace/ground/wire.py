"""Named record batches and a few JSON values as one string of bytes: what travels through Spark, and the state.

Rows through Spark are opaque, `(task, what, bytes)`, so that Spark needs no kind's schema.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

Batches = dict[str, pa.RecordBatch]

# A fifth of the bytes through the JVM, the shuffle and the state, at no cost that could be measured.
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")
_PLAIN = pa.ipc.IpcWriteOptions()


def pack(batches: Batches, **values: Any) -> bytes:
    """The batches by name, and JSON values beside them."""
    parts = [_encode(batch, _COMPRESSED) for batch in batches.values()]
    outer = pa.RecordBatch.from_arrays(
        [pa.array(list(batches), pa.string()), pa.array(parts, pa.large_binary())], names=["name", "ipc"]
    )
    return _encode(outer.replace_schema_metadata({"values": json.dumps(values)}), _PLAIN)


def unpack(data: bytes) -> tuple[Batches, dict[str, Any]]:
    """What `pack` was given."""
    outer = _decode(pa.py_buffer(data))
    batches = {
        name: _decode(part.as_buffer())
        for name, part in zip(outer.column("name").to_pylist(), outer.column("ipc"), strict=True)
    }
    return batches, json.loads(outer.schema.metadata[b"values"])


def _encode(batch: pa.RecordBatch, options: pa.ipc.IpcWriteOptions) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _decode(buffer: pa.Buffer) -> pa.RecordBatch:
    with pa.ipc.open_stream(buffer) as reader:
        return reader.read_next_batch()
