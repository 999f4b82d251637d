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


def dial(host: str, port: int, path: Sequence[Certificate]) -> list[str]:
    """Shake hands with ``host``, trusting the last certificate of ``path`` alone, and say what is wrong if anything is.

    Raises:
        OutsideError: nobody answers.
    """
    context = ssl.create_default_context(cadata=path[-1].parsed.public_bytes(Encoding.DER))
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        with (
            socket.create_connection((host, port), TIMEOUT) as connection,
            context.wrap_socket(connection, server_hostname=host) as secured,
        ):
            shown = secured.getpeercert(binary_form=True)
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or str(error)
        advice = "it serves another certificate, or one that lacks this name"
        return [f"{host}:{port} does not verify with this ca.crt: {reason}; {advice}"]
    except OSError as error:
        raise OutsideError(f"{host}:{port} does not answer: {error}; start the server, or name another one") from None
    if shown != path[0].parsed.public_bytes(Encoding.DER):
        return [f"{host}:{port} serves another certificate than this tls.crt; is it this server's directory?"]
    return []
