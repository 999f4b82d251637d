"""What is made: keys, a CA, leaves under it, and the names that a leaf carries."""

import ssl
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

from certs.handshake import build_context, prove
from certs.material import Material
from certs.names import Names, service_names
from certs.pair import KeyPair, Lifetimes, issue_leaf, make_authority, make_key
from certs.reading import read_certificates

DAY = timedelta(days=1)


def _only(pem: bytes | None) -> x509.Certificate:
    (certificate,) = read_certificates(pem or b"")
    return certificate.parsed


def test_a_leaf_carries_the_names_of_the_service_the_loopback_and_what_was_asked_for() -> None:
    names = service_names("fit", "gpu", ["Node-7.example.com", "10.0.0.9", "FE80::1", "localhost"])
    assert names.issued == (
        "fit",
        "fit.gpu",
        "fit.gpu.svc",
        "fit.gpu.svc.cluster.local",
        "localhost",
        "127.0.0.1",
        "::1",
        "node-7.example.com",
        "10.0.0.9",
        "fe80::1",
    )
    assert names.required == ("fit.gpu.svc", "node-7.example.com", "10.0.0.9", "fe80::1", "localhost")


def test_what_was_asked_for_is_what_the_certificate_says(good: Material, names: Names) -> None:
    (leaf,) = read_certificates(good.leaf_cert or b"")
    assert sorted(leaf.names) == sorted(names.issued)


@pytest.mark.parametrize(
    "name",
    [
        *["", "https://a.example.com", "a.example.com:9443", "*.example.com", "a b", "-a", "a..b", "a."],
        *["ü.de", "[::1]", "fe80::1%eth0", "a\n", "a" * 64, ".".join(["a" * 60] * 5)],
    ],
)
def test_what_is_no_name_is_refused_with_the_value_and_what_is_allowed(name: str) -> None:
    with pytest.raises(
        ValueError, match="is no name for a certificate: allowed are an IP address and a DNS name"
    ) as no:
        service_names("numafit", "numafit-system", [name])
    assert str(no.value).startswith(f"{name!r} is no name for a certificate")


def test_the_ca_signs_leaves_only_and_the_leaf_serves_only(good: Material) -> None:
    ca, leaf = _only(good.ca_cert), _only(good.leaf_cert)
    constraints, usage = x509.BasicConstraints, x509.KeyUsage
    assert ca.extensions.get_extension_for_class(constraints).value == constraints(ca=True, path_length=0)
    assert leaf.extensions.get_extension_for_class(constraints).value == constraints(ca=False, path_length=None)
    assert ca.extensions.get_extension_for_class(usage).value.key_cert_sign
    assert not ca.extensions.get_extension_for_class(usage).value.digital_signature
    assert not leaf.extensions.get_extension_for_class(usage).value.key_cert_sign
    assert leaf.extensions.get_extension_for_class(usage).value.digital_signature
    assert all(c.extensions.get_extension_for_class(e).critical for c in (ca, leaf) for e in (constraints, usage))
    uses = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(uses) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_ca_and_leaf_are_two_p256_keys_and_the_leaf_names_its_issuers_key(good: Material) -> None:
    ca, leaf = read_certificates(good.ca_cert or b"")[0], read_certificates(good.leaf_cert or b"")[0]
    assert (ca.key_type, leaf.key_type) == ("EC P-256", "EC P-256")
    assert ca.public_key != leaf.public_key
    subject = ca.parsed.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    named = leaf.parsed.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert named.key_identifier == subject.digest


@pytest.mark.parametrize("lifetime", [timedelta(minutes=1), timedelta(hours=1), 365 * DAY])
def test_a_certificate_begins_a_little_before_it_was_made_and_is_not_spent_by_that(
    lifetime: timedelta, authority: KeyPair, now: datetime
) -> None:
    pem = issue_leaf(authority, make_key(), ("localhost",), now, lifetime)
    (leaf,) = read_certificates(pem)
    moment = now.replace(microsecond=0)
    assert moment - timedelta(minutes=5, seconds=1) <= leaf.not_before < moment
    assert leaf.not_after == moment + lifetime
    assert leaf.spent(now) < 0.2


def test_a_leaf_never_outlives_its_ca(now: datetime) -> None:
    key = make_key()
    ca = KeyPair(make_authority(key, now, 2 * DAY), key)
    (leaf,) = read_certificates(issue_leaf(ca, make_key(), ("localhost",), now, 365 * DAY))
    assert leaf.not_after == read_certificates(ca.certificate)[0].not_after


def test_a_leaf_does_not_begin_before_its_ca(now: datetime) -> None:
    key = make_key()
    ca = KeyPair(make_authority(key, now + timedelta(minutes=4), 90 * DAY), key)
    (leaf,) = read_certificates(issue_leaf(ca, make_key(), ("localhost",), now, DAY))
    assert leaf.not_before == read_certificates(ca.certificate)[0].not_before


@pytest.mark.parametrize(("ca", "leaf"), [(DAY, 2 * DAY), (DAY, timedelta(seconds=59)), (DAY, -DAY)])
def test_lifetimes_that_cannot_be_are_refused(ca: timedelta, leaf: timedelta) -> None:
    with pytest.raises(ValueError, match="allowed are leaves of 0:01:00 or more that do not outlive their CA"):
        Lifetimes(ca, leaf)


def test_a_ca_key_that_fits_none_of_the_certificates_signs_nothing(authority: KeyPair, now: datetime) -> None:
    with pytest.raises(ValueError, match="the CA's key fits none of its certificates"):
        issue_leaf(KeyPair(authority.certificate, make_key()), make_key(), ("localhost",), now, DAY)


def test_no_repr_shows_a_private_key(good: Material, authority: KeyPair) -> None:
    assert "PRIVATE" not in repr(good) + repr(authority)
    assert "leaf_cert" in repr(good)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_strict_client_that_trusts_only_the_ca_connects_by_each_name(
    version: ssl.TLSVersion, good: Material, names: Names, connect: Callable[..., tuple[str, str | None]]
) -> None:
    server = build_context(good.leaf_cert or b"", good.leaf_key or b"")
    serial = read_certificates(good.leaf_cert or b"")[0].serial
    for name in names.issued:
        assert connect(server, good.ca_cert, name, version) == (serial, "http/1.1")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_trial_handshake_passes_in_each_version_and_fails_for_another_name(
    version: ssl.TLSVersion, good: Material
) -> None:
    server = build_context(good.leaf_cert or b"", good.leaf_key or b"")
    server.maximum_version = version
    trusted = read_certificates(good.ca_cert or b"")[0].parsed.public_bytes(serialization.Encoding.DER)
    prove(server, trusted, "localhost")
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        prove(server, trusted, "elsewhere.example.com")


def test_older_tls_is_not_spoken(good: Material) -> None:
    server = build_context(good.leaf_cert or b"", good.leaf_key or b"")
    assert server.minimum_version == ssl.TLSVersion.TLSv1_2
    assert server.verify_mode == ssl.CERT_NONE
