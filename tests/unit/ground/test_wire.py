"""The wire format restores record batches and values exactly."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tailrace.ground.arrow import wire

BATCHES = {
    "plain": pa.record_batch({"n": pa.array([1, -(2**63)]), "x": pa.array([0.1, float("inf")])}),
    "nulls": pa.record_batch({"key": pa.array([None, "clé", ""]), "n": pa.array([None, 1, None], pa.int64())}),
    "dictionary": pa.record_batch({"key": pa.array(["a", "b", "a"]).dictionary_encode()}),
    "null_in_dictionary": pa.record_batch({"key": pa.array(["a", None]).dictionary_encode(null_encoding="encode")}),
    "empty": pa.record_batch({"n": pa.array([], pa.int32()), "key": pa.array([], pa.string()).dictionary_encode()}),
    "slice": pa.record_batch({"n": pa.array(range(100))}).slice(40, 3),
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_single_batch_is_restored(name: str) -> None:
    batches, _ = wire.unpack(wire.pack({name: BATCHES[name]}))
    assert list(batches) == [name]
    assert batches[name].equals(BATCHES[name])
    assert batches[name].schema == BATCHES[name].schema


def test_several_batches_keep_their_names_and_order() -> None:
    batches, _ = wire.unpack(wire.pack(BATCHES))
    assert list(batches) == list(BATCHES)
    assert all(batches[name].equals(batch) for name, batch in BATCHES.items())


def test_values_are_packed_beside_batches() -> None:
    values = {"clock": {"t_max": -(1 << 62), "facts": [{"settings": '{"k": "é"}'}]}, "none": None, "flag": True}
    assert wire.unpack(wire.pack(BATCHES, **values))[1] == values


def test_an_empty_message_is_restored() -> None:
    assert wire.unpack(wire.pack({})) == ({}, {})


def test_a_slice_is_packed_without_the_rest_of_its_batch() -> None:
    whole = pa.record_batch({"n": pa.array(range(100_000))})
    assert len(wire.pack({"part": whole.slice(5, 1)})) < 5_000
