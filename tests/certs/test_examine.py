"""What is wrong with a set of files, as values: by file, code and text. And sets that are good."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa, x25519
from hypothesis import given
from hypothesis import strategies as st

from certs.examine import examine
from certs.material import Code, File, Material
from certs.names import Names
from certs.pair import KeyPair, issue_leaf, make_authority, make_key
from certs.reading import UnreadableError, read_certificates, read_key

DAY = timedelta(days=1)
Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
OddKey = ed448.Ed448PrivateKey | x25519.X25519PrivateKey
Change = Callable[[Material, KeyPair], Material]


def _pem(key: Key | OddKey, password: bytes = b"") -> bytes:
    sealed = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, sealed)


RSA_KEY = _pem(rsa.generate_private_key(65537, 2048))
SHORT_RSA_KEY = _pem(rsa.generate_private_key(65537, 1024))  # noqa: S505 # it is to be refused
ED448_KEY = _pem(ed448.Ed448PrivateKey.generate())
ED25519_KEY = _pem(ed25519.Ed25519PrivateKey.generate())
P384_KEY = _pem(ec.generate_private_key(ec.SECP384R1()))
K256_KEY = _pem(ec.generate_private_key(ec.SECP256K1()))
X25519_KEY = _pem(x25519.X25519PrivateKey.generate())
SEALED_KEY = _pem(ec.generate_private_key(ec.SECP256R1()), b"secret")


@pytest.fixture
def foreign(now: datetime) -> KeyPair:
    """Another CA."""
    key = make_key()
    return KeyPair(make_authority(key, now - DAY, 3650 * DAY), key)


BROKEN: dict[str, tuple[Change, File, Code, str]] = {
    "an empty certificate": (
        lambda own, _: replace(own, leaf_cert=b""),
        *(File.LEAF_CERT, Code.UNREADABLE, "tls.crt is empty"),
    ),
    "a certificate cut short": (
        lambda own, _: replace(own, leaf_cert=(own.leaf_cert or b"")[:300]),
        *(File.LEAF_CERT, Code.UNREADABLE, "tls.crt holds a certificate that is cut short or damaged"),
    ),
    "a damaged certificate": (
        lambda own, _: replace(own, leaf_cert=(own.leaf_cert or b"").replace(b"MII", b"MIJ", 1)),
        *(File.LEAF_CERT, Code.UNREADABLE, "tls.crt holds a certificate that is cut short or damaged"),
    ),
    "a bundle whose second certificate is cut short": (
        lambda own, foreign: replace(own, ca_cert=(own.ca_cert or b"") + foreign.certificate[:300]),
        *(File.CA_CERT, Code.UNREADABLE, "ca.crt begins 2 certificates and ends 1"),
    ),
    "a key where a certificate should be": (
        lambda own, _: replace(own, leaf_cert=own.leaf_key),
        *(File.LEAF_CERT, Code.UNREADABLE, "tls.crt holds no PEM certificate"),
    ),
    "an empty key": (
        lambda own, _: replace(own, leaf_key=b" \n"),
        *(File.LEAF_KEY, Code.UNREADABLE, "tls.key is empty"),
    ),
    "a key cut short": (
        lambda own, _: replace(own, leaf_key=(own.leaf_key or b"")[:100]),
        *(File.LEAF_KEY, Code.UNREADABLE, "tls.key holds no PEM private key, or one that is cut short"),
    ),
    "an encrypted key": (
        lambda own, _: replace(own, leaf_key=SEALED_KEY),
        *(File.LEAF_KEY, Code.UNREADABLE, "tls.key holds an encrypted key"),
    ),
    "a type that clients do not speak": (
        lambda own, _: replace(own, leaf_key=ED448_KEY),
        *(File.LEAF_KEY, Code.UNREADABLE, "allowed are EC P-256, P-384 or P-521, RSA of 2048 bits or more"),
    ),
    "a key that cannot sign": (
        lambda own, _: replace(own, leaf_key=X25519_KEY),
        *(File.LEAF_KEY, Code.UNREADABLE, "tls.key holds a key of type"),
    ),
    "a short RSA key": (
        lambda own, _: replace(own, leaf_key=SHORT_RSA_KEY),
        *(File.LEAF_KEY, Code.UNREADABLE, "tls.key holds a key of type RSA 1024"),
    ),
    "a curve that clients do not speak": (
        lambda own, _: replace(own, ca_key=K256_KEY),
        *(File.CA_KEY, Code.UNREADABLE, "ca.key holds a key of type EC secp256k1"),
    ),
    "a new certificate and the old key": (
        lambda own, _: replace(own, leaf_key=make_key()),
        *(File.LEAF_KEY, Code.KEY_MISMATCH, "tls.key is not the key of the first certificate in tls.crt"),
    ),
    "a key of another type": (
        lambda own, _: replace(own, leaf_key=RSA_KEY),
        *(File.LEAF_KEY, Code.KEY_MISMATCH, "tls.key is not the key of the first certificate in tls.crt"),
    ),
    "the key of another CA": (
        lambda own, foreign: replace(own, ca_key=foreign.key),
        *(File.CA_KEY, Code.KEY_MISMATCH, "ca.key is not the key of any certificate in ca.crt"),
    ),
    "another CA": (
        lambda own, foreign: replace(own, ca_key=None, ca_cert=foreign.certificate),
        *(File.LEAF_CERT, Code.NOT_SIGNED_BY_CA, "is not signed by what ca.crt holds (CN=numafit CA 2"),
    ),
    "a CA's private key in the file that is published": (
        lambda own, _: replace(own, ca_cert=(own.ca_cert or b"") + (own.ca_key or b"")),
        *(File.CA_CERT, Code.KEY_IN_CA_FILE, "ca.crt holds a private key"),
    ),
    "no key beside the certificate": (
        lambda own, _: replace(own, leaf_key=None),
        *(File.LEAF_KEY, Code.MISSING, "tls.key is missing beside the other files"),
    ),
    "no certificate beside the key": (
        lambda own, _: replace(own, ca_key=None, leaf_cert=None),
        *(File.LEAF_CERT, Code.MISSING, "tls.crt is missing beside the other files"),
    ),
    "a CA key without its certificate": (
        lambda own, _: replace(own, ca_cert=None),
        *(File.CA_CERT, Code.MISSING, "ca.crt is missing beside the other files"),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_said_with_file_code_and_remedy(
    case: str, good: Material, foreign: KeyPair, names: Names, now: datetime
) -> None:
    change, file, code, text = BROKEN[case]
    defects = examine(change(good, foreign), names, now).defects
    assert [(defect.file, defect.code) for defect in defects] == [(file, code)]
    assert text in str(defects[0])
    assert "; " in defects[0].text


def test_a_good_set_has_no_defects_and_its_path_ends_at_the_ca(good: Material, names: Names, now: datetime) -> None:
    seen = examine(good, names, now)
    assert seen.defects == ()
    assert [certificate.is_ca for certificate in seen.path] == [False, True]


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (timedelta(days=-1), [(File.LEAF_CERT, Code.NOT_YET_VALID), (File.CA_CERT, Code.NOT_YET_VALID)]),
        (timedelta(days=200), []),
        (timedelta(days=300), [(File.LEAF_CERT, Code.ENDING)]),
        (timedelta(days=366), [(File.LEAF_CERT, Code.EXPIRED)]),
        (timedelta(days=3000), [(File.LEAF_CERT, Code.EXPIRED), (File.CA_CERT, Code.ENDING)]),
        (timedelta(days=4000), [(File.LEAF_CERT, Code.EXPIRED), (File.CA_CERT, Code.EXPIRED)]),
    ],
)
def test_dates_are_judged_by_the_time_that_is_passed_in(
    age: timedelta, expected: list[tuple[File, Code]], good: Material, names: Names, now: datetime
) -> None:
    defects = examine(good, names, now + age).defects
    assert [(defect.file, defect.code) for defect in defects] == expected


def test_everything_that_is_wrong_is_said_at_once(
    good: Material, foreign: KeyPair, names: Names, now: datetime
) -> None:
    wrong = replace(good, ca_key=None, ca_cert=foreign.certificate, leaf_key=RSA_KEY)
    codes = {defect.code for defect in examine(wrong, names, now + 400 * DAY).defects}
    assert codes == {Code.KEY_MISMATCH, Code.NOT_SIGNED_BY_CA, Code.EXPIRED}


def test_a_leaf_made_here_carries_all_names_and_one_that_was_brought_those_that_are_called(
    authority: KeyPair, names: Names, now: datetime
) -> None:
    key = make_key()
    called = issue_leaf(authority, key, names.required, now, DAY)
    own = examine(Material(authority.key, authority.certificate, key, called), names, now)
    assert [defect.code for defect in own.defects] == [Code.NAME_MISSING]
    assert "carries numafit.numafit-system.svc but not numafit, numafit.numafit-system" in own.defects[0].text
    assert examine(Material(None, authority.certificate, key, called), names, now).defects == ()
    other = issue_leaf(authority, key, ("localhost",), now, DAY)
    brought = examine(Material(None, authority.certificate, key, other), names, now)
    assert "but not numafit.numafit-system.svc;" in brought.defects[0].text


def test_a_leaf_under_an_intermediate_leads_to_the_root_if_the_chain_is_there(
    authority: KeyPair, names: Names, now: datetime, odd_certificate: Callable[..., bytes]
) -> None:
    root_key, middle_key, key = make_key(), make_key(), make_key()
    root = KeyPair(odd_certificate(authority, root_key, is_ca=True), root_key)
    middle = KeyPair(odd_certificate(root, middle_key, is_ca=True), middle_key)
    leaf = issue_leaf(middle, key, names.issued, now, DAY)
    whole = examine(Material(None, root.certificate, key, leaf + middle.certificate), names, now)
    assert (whole.defects, len(whole.path)) == ((), 3)
    trusted = examine(Material(None, middle.certificate, key, leaf), names, now)
    assert (trusted.defects, len(trusted.path)) == ((), 2)
    torn = examine(Material(None, root.certificate, key, leaf), names, now)
    assert [defect.code for defect in torn.defects] == [Code.NOT_SIGNED_BY_CA]


def test_a_chain_that_ends_in_itself_and_not_in_the_trusted_ca_is_foreign(
    good: Material, foreign: KeyPair, names: Names, now: datetime
) -> None:
    with_its_root = (good.leaf_cert or b"") + (good.ca_cert or b"")
    seen = examine(Material(None, foreign.certificate, good.leaf_key, with_its_root), names, now)
    assert [defect.code for defect in seen.defects] == [Code.NOT_SIGNED_BY_CA]


def test_what_signed_a_leaf_has_to_be_a_ca(good: Material, names: Names, now: datetime) -> None:
    key = make_key()
    no_ca = KeyPair(good.leaf_cert or b"", good.leaf_key or b"")
    leaf = issue_leaf(no_ca, key, names.issued, now, DAY)
    below_a_leaf = examine(Material(no_ca.key, no_ca.certificate, key, leaf), names, now)
    assert {(d.file, d.code) for d in below_a_leaf.defects} == {(File.CA_CERT, Code.NOT_A_CA)}
    chained = examine(Material(None, good.ca_cert, key, leaf + no_ca.certificate), names, now)
    assert {(d.file, d.code) for d in chained.defects} == {(File.LEAF_CERT, Code.NOT_A_CA)}


def test_a_certificate_for_clients_does_not_serve_and_a_wildcard_does(
    authority: KeyPair, names: Names, now: datetime, odd_certificate: Callable[..., bytes]
) -> None:
    key = make_key()
    for_clients = odd_certificate(authority, key, *names.required, for_clients=True)
    defects = examine(Material(None, authority.certificate, key, for_clients), names, now).defects
    assert [(defect.file, defect.code) for defect in defects] == [(File.LEAF_CERT, Code.NOT_FOR_SERVERS)]
    wild = odd_certificate(authority, key, "*.numafit-system.svc")
    assert examine(Material(None, authority.certificate, key, wild), names, now).defects == ()
    too_wild = odd_certificate(authority, key, "*.svc")
    assert [d.code for d in examine(Material(None, authority.certificate, key, too_wild), names, now).defects] == [
        Code.NAME_MISSING
    ]


@pytest.mark.parametrize("key", [RSA_KEY, ED25519_KEY, P384_KEY])
def test_ca_and_leaf_of_other_allowed_key_types_are_good(key: bytes, names: Names, now: datetime) -> None:
    ca = KeyPair(make_authority(key, now, 30 * DAY), key)
    leaf = issue_leaf(ca, key, names.issued, now, 10 * DAY)
    assert examine(Material(ca.key, ca.certificate, key, leaf), names, now).defects == ()


def test_a_pair_without_ca_file_is_trusted_by_the_top_of_its_chain(
    good: Material, authority: KeyPair, names: Names, now: datetime
) -> None:
    alone = replace(good, ca_key=None, ca_cert=None)
    assert (examine(alone, names, now).defects, len(examine(alone, names, now).path)) == ((), 1)
    chained = replace(alone, leaf_cert=(good.leaf_cert or b"") + authority.certificate)
    assert (examine(chained, names, now).defects, len(examine(chained, names, now).path)) == ((), 2)


def test_an_old_ca_that_ended_does_no_harm_in_a_bundle(good: Material, names: Names, now: datetime) -> None:
    old = make_authority(make_key(), now - 100 * DAY, 50 * DAY)
    assert examine(replace(good, ca_cert=old + (good.ca_cert or b"")), names, now).defects == ()


@given(st.binary(max_size=400), st.sampled_from([b"", b"-----BEGIN CERTIFICATE-----\n"]))
def test_no_bytes_end_in_another_error_than_unreadable(junk: bytes, begin: bytes) -> None:
    for read in (read_certificates, read_key):
        with pytest.raises(UnreadableError):
            read(begin + junk)


def test_each_code_is_explained_in_the_manual() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "certificates.md").read_text()
    assert [code for code in Code if f"`{code}`" not in manual] == []
