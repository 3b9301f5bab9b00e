"""Network coding: what was sent comes out, whatever is lost and whichever buffer it is in."""

from __future__ import annotations

import array
import pickle
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from lasthop import rlnc

CODES = st.builds(
    lambda symbols, symbol_bytes, field: rlnc.Code(symbols, symbol_bytes, field=field),
    st.integers(1, 40),
    st.integers(1, 200),
    st.sampled_from([2, 16, 256]),
)


@st.composite
def blocks(draw: st.DrawFn) -> tuple[rlnc.Code, bytes]:
    code = draw(CODES)
    size = code.symbols * code.symbol_bytes
    return code, draw(st.binary(min_size=size, max_size=size))


def filled(code: rlnc.Code, data: bytes) -> rlnc.Encoder:
    encoder = rlnc.Encoder(code)
    assert encoder.extend(data) == code.symbols == len(encoder)
    return encoder


@settings(deadline=None)
@given(blocks(), st.lists(st.booleans(), max_size=60), st.integers(0, 2**63))
def test_a_block_comes_back(block: tuple[rlnc.Code, bytes], lost: list[bool], seed: int) -> None:
    code, data = block
    encoder, decoder = filled(code, data), rlnc.Decoder(code)
    assert encoder.code == decoder.code == code
    packets = [encoder.source(index) for index in range(code.symbols)]
    arrived = [p for p, is_lost in zip(packets, lost + [False] * len(packets)) if not is_lost]
    for vector, payload in arrived:
        assert decoder.push(vector, payload) and vector.kind == "source"
    assert decoder.rank == decoder.known == len(arrived)
    if arrived:
        assert not decoder.push(*arrived[0])
    for number in range(300):
        if decoder.is_complete:
            break
        decoder.push(*encoder.coded((seed + number) % 2**64))
    assert decoder.data() == data
    told = [decoder.next_known() for _ in range(code.symbols + 1)]
    assert sorted(index for index in told if index is not None) == list(range(code.symbols))
    assert told[-1] is None
    size = code.symbol_bytes
    assert decoder.symbol(0) == data[:size] and decoder.symbol(code.symbols) is None


@settings(deadline=None)
@given(blocks(), st.integers(0, 2**63))
def test_what_is_combined_on_the_way_comes_back(block: tuple[rlnc.Code, bytes], seed: int) -> None:
    code, data = block
    encoder, recoder, decoder = filled(code, data), rlnc.Recoder(code), rlnc.Decoder(code)
    number = 0
    while recoder.rank < code.symbols and number < 300:
        recoder.push(*encoder.coded((seed + number) % 2**64))
        number += 1
    for number in range(300):
        if decoder.is_complete:
            break
        vector, payload = recoder.recode((seed + number) % 2**64)
        assert (vector.kind, vector.count, vector.seed) == ("full", code.symbols, None)
        packed = vector.packed
        assert packed is not None
        decoder.push(rlnc.Vector.full(bytearray(packed), count=vector.count), payload)
    assert decoder.data() == data


@settings(deadline=None)
@given(blocks(), st.lists(st.integers(0, 2**64 - 1), max_size=150), st.integers(0, 65535))
def test_many_at_once_are_those_one_by_one(
    block: tuple[rlnc.Code, bytes], seeds: list[int], density: int
) -> None:
    encoder = filled(*block)
    expected = [encoder.coded(seed, density=density) for seed in seeds]
    assert encoder.coded_many(seeds, density=density) == expected


@settings(deadline=None)
@given(CODES, st.data())
def test_a_stream_comes_back(code: rlnc.Code, data: st.DataObject) -> None:
    encoder, decoder = rlnc.WindowEncoder(code), rlnc.WindowDecoder(code)
    sent: list[bytes] = []
    for number in range(data.draw(st.integers(1, 3 * code.symbols))):
        symbol = data.draw(st.binary(min_size=code.symbol_bytes, max_size=code.symbol_bytes))
        if encoder.range[1] - encoder.range[0] == code.symbols:
            encoder.slide(encoder.range[0] + 1)
        assert encoder.push(symbol) == number
        sent.append(symbol)
        if data.draw(st.booleans()):
            decoder.push(*encoder.source(number))
        if data.draw(st.booleans()):
            decoder.push(*encoder.coded(number))
    for seed in range(300):
        decoder.push(*encoder.coded(1 << 40 | seed))
    first, end = encoder.range
    for index in range(first, end):
        assert decoder.symbol(index) == sent[index]
    told = set(iter(decoder.next_known, None))
    assert set(range(first, end)) <= told and decoder.rank >= end - first


def numpy_array(data: bytes) -> Any:
    numpy = pytest.importorskip("numpy")
    return numpy.frombuffer(data, numpy.uint8).copy()


def numpy_columns(data: bytes) -> Any:
    """The same bytes in an array that is not contiguous."""
    numpy = pytest.importorskip("numpy")
    wide = numpy.zeros((len(data), 2), numpy.uint8)
    wide[:, 0] = numpy.frombuffer(data, numpy.uint8)
    return wide[:, 0]


BUFFERS: list[Callable[[bytes], Any]] = [
    bytes,
    bytearray,
    memoryview,
    lambda data: array.array("H", data),
    lambda data: memoryview(data + b"x")[:-1],
    numpy_array,
    numpy_columns,
]


@pytest.mark.parametrize("buffer", BUFFERS)
def test_every_buffer_is_taken(buffer: Callable[[bytes], Any]) -> None:
    code = rlnc.Code(4, 6)
    data = bytes(range(24))
    encoder, decoder = rlnc.Encoder(code), rlnc.Decoder(code)
    assert encoder.extend(buffer(data[:12])) == 2
    assert encoder.push(buffer(data[12:18])) == 2
    assert encoder.push(buffer(data[18:])) == 3
    for seed in range(20):
        vector, payload = encoder.coded(seed)
        decoder.push(vector, buffer(payload))
    assert decoder.data() == data


def test_what_is_wrong() -> None:
    code = rlnc.Code(2, 4)
    encoder, decoder = rlnc.Encoder(code), rlnc.Decoder(code)
    with pytest.raises(ValueError, match="no symbol to combine"):
        encoder.coded(1)
    with pytest.raises(ValueError, match="do not fit"):
        encoder.push(b"12345")
    with pytest.raises(ValueError, match="holds 2 symbols"):
        encoder.extend(b"123456789")
    assert len(encoder) == 0, "all or none"
    assert encoder.extend(b"12345") == 2
    assert encoder.source(1) == (rlnc.Vector.source(1), b"5\0\0\0")
    with pytest.raises(IndexError):
        encoder.source(2)
    with pytest.raises(ValueError, match="holds 2 symbols"):
        encoder.push(b"6")
    vector, payload = encoder.coded(1)
    with pytest.raises(ValueError, match="3 bytes instead of 4"):
        decoder.push(vector, payload[:3])
    with pytest.raises(ValueError, match="beyond the block"):
        decoder.push(rlnc.Vector.source(2), payload)
    with pytest.raises(ValueError, match="0 of 2 symbols are known"):
        decoder.data()
    for bad in ("text", 7, None, [1, 2]):
        with pytest.raises(TypeError):
            encoder.push(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2, 16 or 256"):
        rlnc.Code(2, 4, field=3)
    for symbols, symbol_bytes in ((0, 1), (1, 0), (65535, 65535)):
        with pytest.raises(ValueError):
            rlnc.Code(symbols, symbol_bytes)
    encoder.clear()
    assert len(encoder) == 0


def test_a_code_and_a_vector_are_values() -> None:
    code = rlnc.Code(32, 1400, field=16)
    assert repr(code) == "Code(32, 1400, field=16)" and pickle.loads(pickle.dumps(code)) == code
    assert code != rlnc.Code(32, 1400)
    vector = rlnc.Vector.seeded(7, count=32, first=4, density=100)
    assert (vector.kind, vector.seed, vector.count, vector.first, vector.density) == (
        "seeded", 7, 32, 4, 100,
    )  # fmt: skip
    assert vector == rlnc.Vector.seeded(7, count=32, first=4, density=100)
    assert len({vector, rlnc.Vector.source(4), rlnc.Vector.source(4)}) == 2
    assert rlnc.Vector.seeded(7, count=1).density == rlnc.DENSE
