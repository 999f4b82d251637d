"""Exemptions lower what follows for some pods, and end by the clock."""

import pytest

from policy.admission.finding import Level
from tests.levels.asking import NOW, at, in_force

ENFORCE, WARN, AUDIT, OFF = Level


EXEMPTIONS = in_force("""
levels: {pin-duplicate: audit}
exemptions:
- {codes: [privileged-gpu, pin-duplicate], namespaces: [a, b], level: warn, owner: o, reason: r, expires: 2026-12-31}
- {codes: [privileged-gpu], selector: {matchLabels: {app: x}}, owner: o, reason: r, expires: 2026-12-01T12:00:00Z}
- codes: [forged-reservation]
  namespaces: [b]
  selector: {matchLabels: {app: x}}
  level: audit
  owner: o
  reason: r
  expires: 2027-01-01
""")


@pytest.mark.parametrize(
    ("namespace", "pod_labels", "now", "expected"),
    [
        ("c", {}, NOW - 1, (ENFORCE, AUDIT, ENFORCE)),
        ("a", {}, NOW - 1, (WARN, AUDIT, ENFORCE)),
        ("c", {"app": "x"}, NOW - 1, (OFF, AUDIT, ENFORCE)),
        ("a", {"app": "x"}, NOW - 1, (OFF, AUDIT, ENFORCE)),
        ("b", {"app": "x"}, NOW - 1, (OFF, AUDIT, AUDIT)),
        ("b", {"app": "y"}, NOW - 1, (WARN, AUDIT, ENFORCE)),
        ("c", {"app": "x"}, NOW, (ENFORCE, AUDIT, ENFORCE)),
        ("a", {"app": "x"}, NOW, (WARN, AUDIT, ENFORCE)),
        ("a", {}, at("2026-12-31T23:59:59.9"), (WARN, AUDIT, ENFORCE)),
        ("a", {}, at("2027-01-01T00:00:00"), (ENFORCE, AUDIT, ENFORCE)),
    ],
)
def test_an_exemption_lowers_for_its_pods_until_its_time_is_over(
    namespace: str, pod_labels: dict[str, str], now: float, expected: tuple[Level, ...]
) -> None:
    by_code = EXEMPTIONS.levels(namespace, {}, pod_labels, now).by_code
    assert (by_code["privileged-gpu"], by_code["pin-duplicate"], by_code["forged-reservation"]) == expected


def test_an_expired_exemption_is_said_with_owner_codes_and_date() -> None:
    assert EXEMPTIONS.expired(NOW - 1) == ()
    assert EXEMPTIONS.expired(NOW) == (
        "exemptions[1] of 'o' (privileged-gpu) expired 2026-12-01T12:00:00Z and no longer counts; renew or remove it",
    )
    assert len(EXEMPTIONS.expired(at("2027-01-02T00:00:00"))) == 3


@pytest.mark.parametrize(
    ("expires", "end"),
    [
        ("1970-01-01", 86_400.0),
        ("9999-12-31", 253_402_300_800.0),
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T00:00:00.250+00:00", 0.25),
        ("1970-01-02T01:00:00.123456789-23:00", 172_800.123456),
        ("0001-01-01T00:00:00+14:00", -62_135_647_200.0),
    ],
)
def test_an_expiry_ends_at_its_moment_and_a_date_at_its_last(expires: str, end: float) -> None:
    file = in_force(
        f"exemptions: [{{codes: [no-containers], selector: {{}}, owner: o, reason: r, expires: {expires}}}]"
    )
    assert file.levels("a", {}, {}, end).by_code["no-containers"] == ENFORCE
    assert file.levels("a", {}, {}, end - 0.001).by_code["no-containers"] == OFF
