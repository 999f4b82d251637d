"""Calling a running server as its clients do."""

import socket
import ssl
from collections.abc import Sequence
from typing import Final

from cryptography.hazmat.primitives.serialization import Encoding

from certs.reading import Certificate
from webhook.cli.errors import OutsideError

TIMEOUT: Final = 5.0
"""Seconds; a device plugin waits for less."""


_PLAIN: Final = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"})
"""OpenSSL's reasons where what answers is not TLS at all."""


def dial(host: str, port: int, path: Sequence[Certificate]) -> list[str]:
    """Shake hands with ``host``, trusting the last certificate of ``path`` alone, and say what is wrong if anything is.

    Raises:
        OutsideError: nobody answers.
    """
    context = ssl.create_default_context(cadata=path[-1].parsed.public_bytes(Encoding.DER))
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    place = f"{host}:{port}"
    try:
        connection = socket.create_connection((host, port), TIMEOUT)
    except OSError as error:
        raise OutsideError(f"{place} does not answer: {error}; start the server, or name another one") from None
    try:
        with connection, context.wrap_socket(connection, server_hostname=host) as secured:
            shown = secured.getpeercert(binary_form=True)
    except OSError as error:
        return [f"{place} {_objection(error)}"]
    if shown != path[0].parsed.public_bytes(Encoding.DER):
        return [f"{place} serves another certificate than this tls.crt; is it this server's directory?"]
    return []


def _objection(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        advice = "it serves another certificate, or one that lacks this name"
        return f"does not verify with this ca.crt: {error.verify_message}; {advice}"
    reason = getattr(error, "reason", "") or str(error)
    what = "does not speak TLS" if reason in _PLAIN else f"does not complete a TLS handshake ({reason})"
    return f"{what}; name the TLS port of the server, not the plain one of health and metrics"
