"""PEM bytes read into values: what a certificate or a key says, or why it cannot be read."""

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey

KEY_TYPES = "EC P-256, P-384 or P-521, RSA of 2048 bits or more, Ed25519"
_CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
_SHORTEST_RSA = 2048
_BEGIN = re.compile(rb"-----BEGIN (?:X509 )?CERTIFICATE-----")
_SERVERS = {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}


class UnreadableError(ValueError):
    """These bytes are not what they should be. The text is a clause that goes on after a file's name."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What one certificate says.

    Names are in lower case; serial and SHA-256 are hexadecimal, as openssl prints them.
    """

    subject: str
    issuer: str
    serial: str
    sha256: str
    not_before: datetime
    not_after: datetime
    names: tuple[str, ...]
    key_type: str
    is_ca: bool
    serves: bool
    public_key: PublicKey = field(repr=False)
    parsed: x509.Certificate = field(repr=False)

    def spent(self, now: datetime) -> float:
        """The part of its lifetime that is over: below 0 before it begins, above 1 after it ended."""
        lifetime = max(self.not_after - self.not_before, timedelta(seconds=1))
        return (now - self.not_before) / lifetime

    def carries(self, name: str) -> bool:
        """Whether `name` (canonical) is one of its names, or falls under one that begins with `*.`."""
        return name in self.names or f"*.{name.partition('.')[2]}" in self.names

    def is_of(self, key: PrivateKey) -> bool:
        """Whether it certifies the public half of `key`."""
        return self.public_key == key.public_key()

    def is_signed_by(self, issuer: "Certificate") -> bool:
        """Whether the issuer's name and signature fit; dates and constraints are not looked at."""
        try:
            self.parsed.verify_directly_issued_by(issuer.parsed)
        except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
            return False
        return True


def read_certificates(pem: bytes) -> tuple[Certificate, ...]:
    """All certificates in `pem`, one at least, in their order.

    Raises:
        UnreadableError: there is none, or one of them cannot be read.
    """
    begun = len(_BEGIN.findall(pem))
    if not begun:
        raise UnreadableError("holds no PEM certificate" if pem.strip() else "is empty")
    try:
        found = tuple(map(_certificate, x509.load_pem_x509_certificates(pem)))
    except UnreadableError:
        raise
    # Extensions are parsed on first use, and each of their parsers has exceptions of its own.
    except Exception as error:
        raise UnreadableError("holds a certificate that is cut short or damaged") from error
    if len(found) != begun:
        raise UnreadableError(f"begins {begun} certificates and ends {len(found)}: it is cut short or damaged")
    return found


def read_key(pem: bytes) -> PrivateKey:
    """The private key in `pem`.

    Raises:
        UnreadableError: there is none, it is encrypted, or it is of a type that is not served.
    """
    if not pem.strip():
        raise UnreadableError("is empty")
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except TypeError as error:
        raise UnreadableError("holds an encrypted key, for which there is no password") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UnreadableError("holds no PEM private key, or one that is cut short or damaged") from error
    if not isinstance(key, PrivateKey):
        raise UnreadableError(f"holds a key of type {type(key).__name__}: allowed are {KEY_TYPES}")
    _key_type(key.public_key())
    return key


def signing_hash(signer: PrivateKey) -> hashes.SHA256 | None:
    """What `signer` hashes with: Ed25519 brings its own."""
    return None if isinstance(signer, ed25519.Ed25519PrivateKey) else hashes.SHA256()


def _certificate(parsed: x509.Certificate) -> Certificate:
    key = parsed.public_key()
    if not isinstance(key, PublicKey):
        raise UnreadableError(f"holds a key of type {type(key).__name__}: allowed are {KEY_TYPES}")
    serial = parsed.serial_number
    return Certificate(
        subject=parsed.subject.rfc4514_string(),
        issuer=parsed.issuer.rfc4514_string(),
        serial=serial.to_bytes(serial.bit_length() // 8 + 1).hex().upper().removeprefix("00"),
        sha256=parsed.fingerprint(hashes.SHA256()).hex().upper(),
        not_before=parsed.not_valid_before_utc,
        not_after=parsed.not_valid_after_utc,
        names=_names(parsed.extensions),
        key_type=_key_type(key),
        is_ca=_is_ca(parsed.extensions),
        serves=_serves(parsed.extensions),
        public_key=key,
        parsed=parsed,
    )


def _names(extensions: x509.Extensions) -> tuple[str, ...]:
    try:
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    hosts = [name.lower() for name in names.get_values_for_type(x509.DNSName)]
    return (*hosts, *map(str, names.get_values_for_type(x509.IPAddress)))


def _is_ca(extensions: x509.Extensions) -> bool:
    try:
        return extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _serves(extensions: x509.Extensions) -> bool:
    """Whether it may be used by a server: it says so, or says nothing about its use."""
    try:
        return not _SERVERS.isdisjoint(extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        return True


def _key_type(key: PublicKey) -> str:
    """The key's type as people write it.

    Raises:
        UnreadableError: it is of an allowed type, but of another curve or too short.
    """
    if isinstance(key, ed25519.Ed25519PublicKey):
        return "Ed25519"
    if isinstance(key, rsa.RSAPublicKey):
        named, good = f"RSA {key.key_size}", key.key_size >= _SHORTEST_RSA
    else:
        named, good = f"EC {_CURVES.get(key.curve.name, key.curve.name)}", key.curve.name in _CURVES
    if not good:
        raise UnreadableError(f"holds a key of type {named}: allowed are {KEY_TYPES}")
    return named
