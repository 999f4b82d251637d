import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.material import File, Material
from certs.names import Names, service_names
from certs.pair import KeyPair, issue_leaf, make_authority, make_key
from certs.reading import read_certificates, read_key

DAY = timedelta(days=1)


@pytest.fixture
def now() -> datetime:
    """The real time: real clients look at real clocks."""
    return datetime.now(UTC)


@pytest.fixture
def names() -> Names:
    return service_names("numafit", "numafit-system")


@pytest.fixture
def authority(now: datetime) -> KeyPair:
    key = make_key()
    return KeyPair(make_authority(key, now, 3650 * DAY), key)


@pytest.fixture
def good(authority: KeyPair, names: Names, now: datetime) -> Material:
    """A full set as it is made at the first start."""
    key = make_key()
    leaf = issue_leaf(authority, key, names.issued, now, 365 * DAY)
    return Material(authority.key, authority.certificate, key, leaf)


@pytest.fixture
def put() -> Callable[[Path, Material], None]:
    """Writes a set to a directory, and takes away what is not in the set."""

    def put(directory: Path, material: Material) -> None:
        directory.mkdir(exist_ok=True)
        contents = (material.ca_key, material.ca_cert, material.leaf_key, material.leaf_cert)
        for file, pem in zip(File, contents, strict=True):
            path = directory / file
            if pem is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(pem)

    return put


@pytest.fixture
def odd_certificate(now: datetime) -> Callable[..., bytes]:
    """Issues what the code under test never would: an intermediate CA, a wildcard, a client's certificate."""

    def odd_certificate(
        issuer: KeyPair, key: bytes, *names: str, is_ca: bool = False, for_clients: bool = False
    ) -> bytes:
        public = read_key(key).public_key()
        use = ExtendedKeyUsageOID.CLIENT_AUTH if for_clients else ExtendedKeyUsageOID.SERVER_AUTH
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"odd {is_ca}")]))
            .issuer_name(read_certificates(issuer.certificate)[0].parsed.subject)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY / 24)
            .not_valid_after(now + 30 * DAY)
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([use]), critical=False)
            .add_extension(x509.SubjectAlternativeName(map(x509.DNSName, names)), critical=False)
        )
        signed = builder.sign(read_key(issuer.key), hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM)

    return odd_certificate


@pytest.fixture
def connect() -> Callable[..., tuple[str, str | None]]:
    """A client that trusts one CA file alone, over a real socket: gives the leaf's serial and the ALPN."""

    def connect(
        server: ssl.SSLContext, ca: bytes, name: str, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
    ) -> tuple[str, str | None]:
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.load_verify_locations(cadata=ca.decode())
        client.verify_flags |= ssl.VERIFY_X509_STRICT
        client.maximum_version = version
        client.set_alpn_protocols(["h2", "http/1.1"])
        ours, theirs = socket.socketpair()
        with ThreadPoolExecutor(1) as pool, ours, theirs:
            accepted = pool.submit(_accept, server, theirs)
            with client.wrap_socket(ours, server_hostname=name) as tls:
                seen = tls.getpeercert() or {}
                answer = str(seen["serialNumber"]), tls.selected_alpn_protocol()
                accepted.result(timeout=5)
                return answer

    return connect


def _accept(server: ssl.SSLContext, connection: socket.socket) -> None:
    with server.wrap_socket(connection, server_side=True):
        pass
