"""Real servers for real clients: each is a process of its own with a certificate made here."""

import datetime as dt
import ipaddress
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.server.running import Server, echo


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with cert.pem, which is its own CA, and key.pem."""
    directory = tmp_path_factory.mktemp("pair")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    (directory / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (directory / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return directory


@pytest.fixture(scope="session")
def start(pair: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers, and ends those that the tests have left."""
    started: list[Server] = []

    def new(*settings: str, breaks: str = "") -> Server:
        started.append(echo(pair, *settings, breaks=breaks))
        return started[-1]

    yield new
    for server in started:
        server.kill()


@pytest.fixture(scope="session")
def server(start: Callable[..., Server]) -> Server:
    """One server with the default limits, for all tests that leave it as they found it."""
    return start().wait_until_up()
