"""The copy of `ca.crt` that others read: HAMi's device plugin verifies the refit endpoint with it."""

from pathlib import Path

from certs.files import read_whole, write_atomically
from certs.material import CertificateError, Code, Defect, File


def publish_ca(ca_cert: bytes | None, path: Path) -> None:
    """Puts `ca_cert` at `path`, readable for all, whole or not at all; untouched when it is there already.

    Raises:
        CertificateError: there is nothing to publish, or it cannot be written there.
    """
    if ca_cert is None:
        text = f"is missing, and it is to be published at {path}; put the CA there, or publish nothing"
        raise CertificateError(path, Defect(File.CA_CERT, Code.MISSING, text))
    try:
        if read_whole(path) != ca_cert:
            write_atomically(path, ca_cert, 0o644)
    except OSError as error:
        text = f"cannot be written: {error.strerror or error}; name a file in a directory open to this user"
        raise CertificateError(path.parent, Defect(path.name, Code.NOT_WRITABLE, text)) from error
