"""A TLS context built from bytes, and the trial that proves it before a client meets it."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_NO_CHECK_TIME = 0x200000  # OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which the ssl module does not name
_ROUNDS = 2  # what TLS 1.2 needs


def build_context(chain: bytes, key: bytes) -> ssl.SSLContext:
    """A server context for this pair (PEM): TLS 1.2 or newer, HTTP/1.1 only, no client certificates.

    Raises:
        ssl.SSLError: OpenSSL does not take the pair.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # The key goes first: OpenSSL takes the first one it meets, and a chain may hold another.
    with _in_memory(key + b"\n" + chain) as path:
        context.load_cert_chain(path)
    return context


def prove(context: ssl.SSLContext, trusted: bytes, name: str) -> None:
    """Shakes hands with `context` in memory, as a client that trusts `trusted` (DER) alone and calls `name`.

    As in Go's clients any certificate may be the trusted one, a root or not. Dates are not looked at: they
    are judged where the time is passed in, by one clock.

    Raises:
        ssl.SSLError: no client could connect.
    """
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.load_verify_locations(cadata=trusted)
    client_context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | _NO_CHECK_TIME
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname=name)
    server = context.wrap_bio(to_server, to_client, server_side=True)
    for end in (client, server) * _ROUNDS:
        with suppress(ssl.SSLWantReadError):
            end.do_handshake()
    # Nothing is left to be said: an end that has not finished asks for more, and that is an error.
    client.do_handshake()
    server.do_handshake()


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """A path for libraries that read files only; no disk ever sees what is in it."""
    descriptor = os.memfd_create("pair")
    try:
        os.write(descriptor, content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
