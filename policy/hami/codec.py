"""The text in which pod annotations hold devices.

A value is one entry per container, init containers first, each followed by `;`. An entry is its devices, each
followed by `:`. A device is `uuid,type,MiB,percent` and, where it takes more than one share, `,shares`. Nothing
can be escaped (HAMi: device codec).
"""

from collections.abc import Iterable
from typing import Final

from policy.facts import Device, Entry
from policy.hami.errors import shown
from policy.hami.golang import MAX_INT32, go_int

_SEPARATORS: Final = frozenset(",:;")
_FIELDS: Final = 4
_PROBLEMS_NAMED: Final = 3


class CodecError(ValueError):
    """A value or an entry cannot be read, written or changed; the text says which part and why."""


def encode_entry(entry: Entry) -> str:
    """Return the text of one container's devices, empty for none.

    Raises:
        CodecError: a device holds what no reader could read back.
    """
    return "".join(f"{_encode_device(device)}:" for device in entry)


def encode(entries: Iterable[Entry]) -> str:
    """Return the annotation value of ``entries``, one per container.

    Raises:
        CodecError: a device holds what no reader could read back.
    """
    return "".join(f"{encode_entry(entry)};" for entry in entries)


def decode_entry(text: str) -> Entry:
    """Return the devices of one container.

    Raises:
        CodecError: a part of ``text`` is no device.
    """
    entry, problems = _read_entry(text)
    if problems:
        raise CodecError(problems[0])
    return entry


def decode(value: str) -> tuple[Entry, ...]:
    """Return the entries of an annotation value, blank ones too.

    A value that ends with `;`, as written ones do, yields one blank entry more than there are containers.

    Raises:
        CodecError: a part of ``value`` is no device.
    """
    entries, problems = _read(value)
    if problems:
        raise CodecError(problems[0])
    return entries


def decode_readable(value: str) -> tuple[tuple[Entry, ...], str]:
    """Return what can be read of ``value``, and a text about the rest, empty if there is none.

    Each device that cannot be read is left out by itself (docs/decisions.md 7).
    """
    entries, problems = _read(value)
    more = len(problems) - _PROBLEMS_NAMED
    named = problems[:_PROBLEMS_NAMED] + ([f"and {more} more"] if more > 0 else [])
    return entries, "; ".join(named)


def raw_entries(value: str) -> list[str]:
    """Return the texts of the entries of ``value``, unread and unchanged."""
    return value.split(";")


def splice(value: str, position: int, entry: str) -> str:
    """Return ``value`` with one entry replaced and every other byte as it was (docs/decisions.md 3).

    Raises:
        CodecError: there is no entry at ``position``, it is blank, or ``entry`` would shift the others.
    """
    texts = raw_entries(value)
    if not 0 <= position < len(texts):
        raise CodecError(f"entry {position} does not exist, the value has {len(texts)}; nothing to replace")
    if not texts[position]:
        raise CodecError(f"entry {position} is blank; only an entry with devices can be replaced")
    if ";" in entry:
        raise CodecError(f"{shown(entry)} is more than one entry; an entry holds no `;`")
    texts[position] = entry
    return ";".join(texts)


def consume_first(value: str) -> str:
    """Return what the device plugin leaves of ``value`` after it served the first container that has devices.

    The plugin writes the blank entry behind the last `;` like a container's, so the text grows by one `;` each
    time (HAMi: Allocate).

    Raises:
        CodecError: ``value`` cannot be read or no entry has devices.
    """
    entries = decode(value)
    served = next((position for position, entry in enumerate(entries) if entry), None)
    if served is None:
        raise CodecError(f"{shown(value)} has no devices left to allocate")
    return encode(() if position == served else entry for position, entry in enumerate(entries))


def _encode_device(device: Device) -> str:
    for name in (device.uuid, device.type):
        if not name or _SEPARATORS.intersection(name):
            raise CodecError(f"{shown(name)} cannot be written: UUID and type need text without `,`, `:`, `;`")
    text = f"{device.uuid},{device.type},{_amount(device.memory)},{_amount(device.cores)}"
    return f"{text},{_amount(device.slots)}" if device.slots > 1 else text


def _amount(value: int) -> int:
    if not 0 <= value <= MAX_INT32:
        raise CodecError(f"amount {value} cannot be written: it must lie between 0 and {MAX_INT32}")
    return value


def _read(value: str) -> tuple[tuple[Entry, ...], list[str]]:
    entries: list[Entry] = []
    problems: list[str] = []
    for position, text in enumerate(raw_entries(value)):
        entry, found = _read_entry(text)
        entries.append(entry)
        problems.extend(f"entry {position}: {problem}" for problem in found)
    return tuple(entries), problems


def _read_entry(text: str) -> tuple[Entry, list[str]]:
    devices: list[Device] = []
    problems: list[str] = []
    for segment in text.split(":"):
        if not segment:
            continue
        try:
            devices.append(_read_device(segment))
        except CodecError as error:
            problems.append(f"device {shown(segment)}: {error}")
    return tuple(devices), problems


def _read_device(segment: str) -> Device:
    fields = segment.split(",")
    if len(fields) < _FIELDS:
        raise CodecError(f"has {len(fields)} fields, needs uuid, type, MiB and percent of cores")
    uuid, kind, memory, cores = fields[:_FIELDS]
    if not uuid or not kind:
        raise CodecError(f"its {'type' if uuid else 'UUID'} is empty")
    slots = go_int(fields[_FIELDS], MAX_INT32) if len(fields) > _FIELDS else None
    return Device(
        uuid=uuid,
        type=kind,
        memory=_read_amount("memory", memory),
        cores=_read_amount("cores", cores),
        slots=max(slots or 1, 1),
    )


def _read_amount(name: str, text: str) -> int:
    value = go_int(text, MAX_INT32)
    if value is None or value < 0:
        raise CodecError(f"{name} must be a whole number from 0 to {MAX_INT32}, not {shown(text)}")
    return value
