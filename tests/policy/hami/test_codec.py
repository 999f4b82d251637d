"""The device codec: what is written is read back, and any text is read or refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.facts import Device, Entry
from policy.hami.codec import (
    CodecError,
    consume_first,
    decode,
    decode_entry,
    decode_readable,
    encode,
    encode_entry,
    raw_entries,
    splice,
)

A = Device("GPU-a", 20000, 30)
B = Device("GPU-b", 1000, 0)

NAMES = st.text(st.characters(exclude_characters=",:;"), min_size=1, max_size=12)
AMOUNTS = st.integers(0, 2**31 - 1)
DEVICES = st.builds(Device, uuid=NAMES, memory=AMOUNTS, cores=AMOUNTS, type=NAMES, slots=st.integers(1, 2**31 - 1))
ENTRIES = st.lists(DEVICES, max_size=3).map(tuple)
NEARLY_VALUES = st.text(st.sampled_from(list("GPU-aN,:;0129+-x")), max_size=60) | st.text(max_size=40)

few = settings(max_examples=60, deadline=None)


@few
@given(st.lists(ENTRIES, max_size=4))
def test_reads_back_what_it_wrote_and_one_blank_entry_more(entries: list[Entry]) -> None:
    assert decode(encode(entries)) == (*entries, ())


@few
@given(NEARLY_VALUES)
def test_reads_any_text_or_says_why_not(value: str) -> None:
    entries, problem = decode_readable(value)
    assert len(entries) == len(raw_entries(value)) == value.count(";") + 1
    if problem:
        with pytest.raises(CodecError):
            decode(value)
    else:
        assert decode(value) == entries


@few
@given(st.lists(ENTRIES, min_size=1, max_size=4), ENTRIES, st.data())
def test_replacing_an_entry_leaves_every_other_byte(entries: list[Entry], new: Entry, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(entries) - 1))
    value = encode(entries) + ";;"
    if not entries[position]:
        with pytest.raises(CodecError, match="is blank"):
            splice(value, position, encode_entry(new))
        return
    before = raw_entries(value)
    before[position] = encode_entry(new)
    assert raw_entries(splice(value, position, encode_entry(new))) == before


@few
@given(st.lists(ENTRIES, max_size=4))
def test_each_allocation_blanks_the_first_entry_and_adds_a_separator(entries: list[Entry]) -> None:
    value = encode(entries)
    served = [position for position, entry in enumerate(entries) if entry]
    for position in served:
        after = consume_first(value)
        assert after.count(";") == value.count(";") + 1
        assert decode(after)[: position + 1] == ((),) * (position + 1)
        assert decode(after)[position + 1 : len(entries)] == tuple(entries[position + 1 :])
        value = after
    with pytest.raises(CodecError, match="no devices left"):
        consume_first(value)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ((), ""),
        ((A,), "GPU-a,NVIDIA,20000,30:"),
        ((A, B), "GPU-a,NVIDIA,20000,30:GPU-b,NVIDIA,1000,0:"),
        ((Device("GPU-c", 1, 2, slots=3),), "GPU-c,NVIDIA,1,2,3:"),
    ],
)
def test_writes_an_entry_as_readers_expect_it(entry: Entry, text: str) -> None:
    assert encode_entry(entry) == text
    assert decode_entry(text) == entry


@pytest.mark.parametrize(
    "device",
    [
        Device("", 1, 1),
        Device("GPU,a", 1, 1),
        Device("GPU:a", 1, 1),
        Device("GPU;a", 1, 1),
        Device("GPU-a", 1, 1, type=""),
        Device("GPU-a", -1, 1),
        Device("GPU-a", 1, -1),
        Device("GPU-a", 2**31, 1),
        Device("GPU-a", 1, 1, slots=2**31),
    ],
)
def test_never_writes_what_no_reader_can_read(device: Device) -> None:
    with pytest.raises(CodecError, match="cannot be written"):
        encode([(device,)])


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (";x:;", "entry 1: device 'x': has 1 fields, needs uuid, type, MiB and percent of cores"),
        (
            "GPU-a,NVIDIA,1:;",
            "entry 0: device 'GPU-a,NVIDIA,1': has 3 fields, needs uuid, type, MiB and percent of cores",
        ),
        (",NVIDIA,1,2:;", "entry 0: device ',NVIDIA,1,2': its UUID is empty"),
        ("GPU-a,,1,2:;", "entry 0: device 'GPU-a,,1,2': its type is empty"),
        ("a,N,1_0,2:;", "entry 0: device 'a,N,1_0,2': memory must be a whole number from 0 to 2147483647, not '1_0'"),
        ("a,N,1,-2:;", "entry 0: device 'a,N,1,-2': cores must be a whole number from 0 to 2147483647, not '-2'"),
        (
            "a,N,2147483648,2",
            "entry 0: device 'a,N,2147483648,2': memory must be a whole number from 0 to 2147483647, not '2147483648'",
        ),
    ],
)
def test_names_the_part_that_cannot_be_read(value: str, problem: str) -> None:
    with pytest.raises(CodecError) as refusal:
        decode(value)
    assert str(refusal.value) == problem
    assert decode_readable(value)[1] == problem


@pytest.mark.parametrize("slots", ["0", "-3", "x", "", "2147483648"])
def test_a_fifth_field_that_is_no_positive_number_counts_one_share(slots: str) -> None:
    assert decode_entry(f"GPU-a,NVIDIA,1,2,{slots}:") == (Device("GPU-a", 1, 2),)


def test_keeps_the_readable_devices_beside_the_unreadable_ones() -> None:
    entries, problem = decode_readable("GPU-a,NVIDIA,20000,30:bad:;GPU-b,NVIDIA,1000,0:;")
    assert entries == ((A,), (B,), ())
    assert problem.startswith("entry 0: device 'bad'")


def test_names_three_problems_and_counts_the_rest() -> None:
    problem = decode_readable("a:b:c:d:e:")[1]
    assert problem.count("has 1 fields") == 3
    assert problem.endswith("; and 2 more")


def test_shows_a_long_value_cut() -> None:
    with pytest.raises(CodecError) as refusal:
        decode("x" * 100_000)
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize("position", [-1, 3, 99])
def test_does_not_replace_an_entry_that_does_not_exist(position: int) -> None:
    with pytest.raises(CodecError, match=f"entry {position} does not exist, the value has 3"):
        splice("a,N,1,2:;;", position, "b,N,1,2:")


def test_does_not_replace_one_entry_by_two() -> None:
    with pytest.raises(CodecError, match="more than one entry"):
        splice("a,N,1,2:;", 0, "b,N,1,2:;c,N,1,2:")


def test_refuses_to_read_an_entry_with_a_bad_device() -> None:
    with pytest.raises(CodecError, match="device 'bad': has 1 fields"):
        decode_entry("bad:")
