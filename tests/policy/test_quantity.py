"""Quantities, read exactly and without a crash."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.quantity import parse, whole


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        ("0", 0),
        ("20k", 20000),
        ("16Gi", 16 * 1024**3),
        ("1500m", Fraction(3, 2)),
        ("2u", Fraction(2, 10**6)),
        ("3n", Fraction(3, 10**9)),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("1Ei", 1024**6),
        ("2.5Ki", 2560),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("+5", 5),
        ("-5M", -5_000_000),
        ("007", 7),
        ("1e-3", Fraction(1, 1000)),
        ("9" * 64, int("9" * 64)),
        (7, 7),
        (-7, -7),
        (0.1, Fraction(1, 10)),
        (1e22, 10**22),
        (2.0, 2),
        (10**64 - 1, 10**64 - 1),
    ],
)
def test_a_quantity_is_its_exact_amount(value: object, amount: Fraction | int) -> None:
    assert parse(value) == amount


@pytest.mark.parametrize(
    "value",
    [
        "",
        " 1",
        "1 ",
        "1\n",
        ".",
        "K",
        "1K",
        "1ki",
        "1Gib",
        "1e",
        "1.5.5",
        "0x10",
        "1_000",
        "--1",
        "1,5",
        "١٢",
        "²",
        "9" * 65,
        "1e" + "9" * 20,
        True,
        None,
        [],
        {},
        float("nan"),
        float("inf"),
        1e300,
        10**64,
        -(10**64),
    ],
)
def test_what_is_no_quantity_is_none(value: object) -> None:
    assert parse(value) is None
    assert whole(value) is None


def test_a_number_too_long_to_be_written_is_none() -> None:
    assert parse(1 << 100_000) is None
    assert whole(1 << 100_000) is None


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("1000m", 1),
        ("1e3", 1000),
        ("0.5Ki", 512),
        ("-3", -3),
        ("500m", None),
        ("0.1", None),
        ("1e-1", None),
        (3, 3),
        (2.5, None),
    ],
)
def test_a_whole_number_is_one_however_it_is_written(value: object, number: int | None) -> None:
    assert whole(value) == number


def test_an_exponent_of_any_size_is_read_at_once() -> None:
    assert parse("1e9999999999999999999") == 10**40
    assert parse("1e-9999999999999999999") == Fraction(1, 10**40)


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=70)
    | st.text("0123456789.+-eEkKmMiGnu", max_size=30)
    | st.integers()
    | st.floats()
    | st.binary(max_size=3)
)
def test_any_value_has_an_amount_or_none(value: object) -> None:
    amount, number = parse(value), whole(value)
    assert (amount is None) or isinstance(amount, Fraction)
    assert number == (amount if amount is not None and amount.denominator == 1 else None)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**18), st.sampled_from([("", 1), ("k", 1000), ("Mi", 1024**2), ("m", Fraction(1, 1000))]))
def test_a_suffix_multiplies_what_stands_before_it(digits: int, unit: tuple[str, Fraction]) -> None:
    suffix, factor = unit
    assert parse(f"{digits}{suffix}") == digits * factor
    assert parse(f"-{digits}{suffix}") == -digits * factor
