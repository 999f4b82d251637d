"""Making keys and certificates: a CA, and leaves that it signs. The time is passed in, nothing is written."""

import ipaddress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.reading import Certificate, PrivateKey, read_certificates, read_key, signing_hash

_SKEW = timedelta(minutes=5)
_SHORTEST = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long what is made here is valid, from the moment it is made."""

    ca: timedelta = timedelta(days=3650)
    leaf: timedelta = timedelta(days=365)

    def __post_init__(self) -> None:
        if not _SHORTEST <= self.leaf <= self.ca:
            raise ValueError(
                f"a leaf of {self.leaf} under a CA of {self.ca}: "
                f"allowed are leaves of {_SHORTEST} or more that do not outlive their CA"
            )


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


def make_key() -> bytes:
    """A new P-256 private key, PEM (PKCS#8, not encrypted)."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def make_authority(key: bytes, now: datetime, lifetime: timedelta) -> bytes:
    """A CA certificate, PEM, for the private key `key`: it may sign leaves, and no further CAs.

    Its subject carries the time at which it was made, so that two CAs in one bundle can be told apart.

    Raises:
        UnreadableError: `key` is no private key that can sign.
    """
    signer = read_key(key)
    subject = _name(f"numafit CA {now:%Y-%m-%dT%H:%M:%SZ}")
    builder = (
        _builder(subject, signer, _since(now, lifetime), now + lifetime)
        .issuer_name(subject)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return _signed(builder, signer)


def issue_leaf(authority: KeyPair, key: bytes, names: tuple[str, ...], now: datetime, lifetime: timedelta) -> bytes:
    """A server certificate, PEM, for the private key `key`, signed by `authority`; it never outlives the CA.

    `names` are canonical, as `certs.names` gives them. The CA's PEM may hold several certificates: the one
    that fits the CA's key signs.

    Raises:
        UnreadableError: one of the keys, or the CA's certificate, cannot be read.
        ValueError: the CA's key fits none of its certificates.
    """
    signer = read_key(authority.key)
    ca = next((ca for ca in read_certificates(authority.certificate) if ca.is_of(signer)), None)
    if ca is None:
        raise ValueError("the CA's key fits none of its certificates: give the two of one CA")
    since = max(_since(now, lifetime), ca.not_before)
    builder = (
        _builder(_name("numafit"), read_key(key), since, min(now + lifetime, ca.not_after))
        .issuer_name(ca.parsed.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_key_identifier_of(ca), critical=False)
        .add_extension(x509.SubjectAlternativeName(map(_general_name, names)), critical=False)
    )
    return _signed(builder, signer)


def _builder(subject: x509.Name, key: PrivateKey, since: datetime, until: datetime) -> x509.CertificateBuilder:
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(since)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _signed(builder: x509.CertificateBuilder, signer: PrivateKey) -> bytes:
    certificate = builder.sign(signer, signing_hash(signer))
    return certificate.public_bytes(serialization.Encoding.PEM)


def _since(now: datetime, lifetime: timedelta) -> datetime:
    """A little before now, for clients whose clock is behind; little against the lifetime, too."""
    return now - min(_SKEW, lifetime / 10)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _key_identifier_of(ca: Certificate) -> x509.AuthorityKeyIdentifier:
    """What the CA calls its own key: a CA that was brought may have named it in its own way."""
    try:
        named = ca.parsed.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.public_key)
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(named)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
