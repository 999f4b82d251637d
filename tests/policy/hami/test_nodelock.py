"""The lock of a node."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.hami.nodelock import NodeLock, NodeLockError, format_lock, parse_lock


@pytest.mark.parametrize(
    ("text", "lock"),
    [
        ("2026-01-02T03:04:05Z", NodeLock("2026-01-02T03:04:05Z")),
        ("2026-01-02T03:04:05Z,default,pod-a", NodeLock("2026-01-02T03:04:05Z", "default", "pod-a")),
        ("2026-01-02T03:04:05Z,,", NodeLock("2026-01-02T03:04:05Z")),
        ("2026-01-02T03:04:05.123456789+02:00,n,p", NodeLock("2026-01-02T03:04:05.123456789+02:00", "n", "p")),
    ],
)
def test_reads_time_and_holder(text: str, lock: NodeLock) -> None:
    assert parse_lock(text) == lock


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bad,ns,p",
        "2026-01-02T03:04:05Z,default",
        "2026-01-02T03:04:05Z,a,b,c",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04:05",
        "2026-02-30T03:04:05Z",
        "2026-01-02T25:04:05Z",
        " 2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05Z\n",
    ],
)
def test_refuses_what_is_no_lock(text: str) -> None:
    with pytest.raises(NodeLockError) as refusal:
        parse_lock(text)
    assert str(refusal.value) == f"the lock is {text!r}; it must be <RFC 3339 time>,<namespace>,<pod>"


def test_tells_when_it_was_taken_whatever_the_time_zone() -> None:
    taken = parse_lock("2026-01-02T03:04:05.5+02:00,n,p").taken_at
    assert taken == datetime(2026, 1, 2, 1, 4, 5, 500_000, tzinfo=UTC)
    assert taken.utcoffset() == timedelta(hours=2)


@settings(max_examples=60, deadline=None)
@given(st.datetimes(timezones=st.just(UTC)), st.text(st.characters(exclude_characters=",")))
def test_reads_back_what_it_wrote(taken: datetime, name: str) -> None:
    lock = NodeLock(taken.isoformat().replace("+00:00", "Z"), "default", name)
    assert parse_lock(format_lock(lock)) == lock


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_lock_or_an_error(text: str) -> None:
    try:
        lock = parse_lock(text)
    except NodeLockError:
        return
    assert lock.taken_at.tzinfo is not None
