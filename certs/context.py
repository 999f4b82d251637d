"""The TLS context that serves: the last good pair, swapped for a new one only after that one was proven."""

import ssl
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from cryptography.hazmat.primitives.serialization import Encoding

from certs.handshake import build_context, prove
from certs.material import CertificateError, Code, Defect, File
from certs.names import Names
from certs.plan import Serve
from certs.publish import publish_ca

_LOOK_EVERY = timedelta(seconds=10)


class Store(Protocol):
    """Where certificates are kept."""

    @property
    def place(self) -> str:
        """What the texts of errors begin with."""
        ...

    @property
    def names(self) -> Names:
        """The names under which the server is called."""
        ...

    def fingerprint(self) -> Hashable:
        """A value that changes when the content may have changed. Cheap, and never an error."""
        ...

    def ensure(self, now: datetime, *, begin: bool = True) -> Serve:
        """What is to be served, made (a CA only to `begin`) or renewed if need be; raises CertificateError."""
        ...


@dataclass(frozen=True, slots=True)
class _Served:
    kept: Serve
    context: ssl.SSLContext


class ServingContext:
    """Holds the context for new connections, and keeps it up to date with a store.

    `current()` may be called from any thread, `refresh()` from one. Connections that stand are never touched.

    Raises:
        CertificateError: there is nothing good to begin with.
    """

    def __init__(self, store: Store, now: datetime, publish_to: Path | None = None) -> None:
        self.reloads_ok = 0
        self.reloads_failed = 0
        self._store = store
        self._publish_to = publish_to
        self._seen, self._looked_at = store.fingerprint(), now
        kept = store.ensure(now)
        self._take_over(kept)
        self._problem = _text(store.place, kept)

    def current(self) -> ssl.SSLContext:
        """The context for a new connection."""
        return self._served.context

    @property
    def serial(self) -> str:
        """The served leaf's serial number, hexadecimal."""
        return self._served.kept.path[0].serial

    @property
    def expires_at(self) -> float:
        """When the first certificate on the path from leaf to CA ends, in seconds since the epoch."""
        return min(certificate.not_after for certificate in self._served.kept.path).timestamp()

    @property
    def problem(self) -> str:
        """What is wrong with the files or the end that is near, empty when all is well."""
        return self._problem

    def refresh(self, now: datetime) -> None:
        """Takes over a good new pair, has a leaf renewed that nears its end, else keeps the last good one.

        Meant to be called every second. It looks at the files when they have changed, and every 10 seconds
        all the same: a renewal comes due, a full disk has room again. What is wrong stands in `problem`.
        """
        seen = self._store.fingerprint()
        if seen == self._seen and abs(now - self._looked_at) < _LOOK_EVERY:
            return
        self._seen, self._looked_at = seen, now
        try:
            self._look(now)
        except CertificateError as error:
            self._problem = str(error)
            self.reloads_failed += 1

    def _look(self, now: datetime) -> None:
        kept = self._store.ensure(now, begin=False)
        served = self._served.kept
        if (kept.pair, kept.ca_cert) == (served.pair, served.ca_cert):
            self._publish(kept)
        else:
            self._take_over(kept)
            self.reloads_ok += 1
        self._problem = _text(self._store.place, kept)

    def _take_over(self, kept: Serve) -> None:
        """Clients get the CA to trust before they meet what it signed."""
        context = _proven(kept, self._store)
        self._publish(kept)
        self._served = _Served(kept, context)

    def _publish(self, kept: Serve) -> None:
        if self._publish_to is not None:
            publish_ca(kept.ca_cert, self._publish_to)


def _proven(kept: Serve, store: Store) -> ssl.SSLContext:
    trusted = kept.path[-1].parsed.public_bytes(Encoding.DER)
    try:
        context = build_context(kept.pair.certificate, kept.pair.key)
        for name in store.names.required:
            prove(context, trusted, name)
    except OSError as error:
        text = f"did not pass a trial handshake: {error}; if that lies in the pair, issue it anew"
        raise CertificateError(store.place, Defect(File.LEAF_CERT, Code.UNPROVEN, text)) from error
    return context


def _text(place: str, kept: Serve) -> str:
    return str(CertificateError(place, *kept.warnings)) if kept.warnings else ""
