"""The names under which the server is called, checked before a certificate carries them."""

import ipaddress
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_MAX_HOST = 253


@dataclass(frozen=True, slots=True)
class Names:
    """What a serving certificate is good for.

    `issued` is all that a leaf made here carries. `required` is what any leaf must carry, one that the
    operator brings too: the name by which the API server calls a Service, and the extra names asked for.
    """

    issued: tuple[str, ...]
    required: tuple[str, ...]


def service_names(service: str, namespace: str, extra: Iterable[str] = ()) -> Names:
    """Names of a Kubernetes Service, of the loopback, and `extra` (DNS names or IP addresses).

    Raises:
        ValueError: one of them is neither a DNS name nor an IP address.
    """
    called = f"{service}.{namespace}.svc"
    names = (service, f"{service}.{namespace}", called, f"{called}.cluster.local")
    wanted = [canonical_name(name) for name in extra]
    issued = (*map(canonical_name, names), "localhost", "127.0.0.1", "::1", *wanted)
    return Names(tuple(dict.fromkeys(issued)), tuple(dict.fromkeys((canonical_name(called), *wanted))))


def canonical_name(name: str) -> str:
    """`name` in the form in which certificates are compared: lower case, IP addresses in their short form.

    Raises:
        ValueError: it is neither a DNS name nor an IP address.
    """
    if "%" not in name:  # a zone means something on one machine only, and certificates have no room for it
        with suppress(ValueError):
            return str(ipaddress.ip_address(name))
    host = name.lower()
    if len(host) > _MAX_HOST or not _HOST.fullmatch(host):
        raise ValueError(
            f"{name!r} is no name for a certificate: allowed are an IP address and a DNS name "
            "(letters, digits, '-', '_' and dots, without scheme, port or '*'; other letters in xn-- form)"
        )
    return host
