"""Everything that is wrong with a place's certificates, as values."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from certs.material import Code, Defect, File, Material
from certs.names import Names
from certs.reading import Certificate, PrivateKey, UnreadableError, read_certificates, read_key

_ENDING = 0.8

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Examination:
    """What is wrong, and `path`: the leaf, its issuers in order, the certificate that clients trust.

    `path` is empty when it does not end at a trusted certificate. `authority` is the CA whose key is at hand.
    """

    defects: tuple[Defect, ...]
    path: tuple[Certificate, ...]
    authority: Certificate | None


@dataclass(frozen=True, slots=True)
class _Parts:
    """What could be read of the files."""

    ca_key: PrivateKey | None
    trusted: tuple[Certificate, ...]
    leaf_key: PrivateKey | None
    chain: tuple[Certificate, ...]


def examine(material: Material, names: Names, now: datetime) -> Examination:
    """Judges all that is to be served.

    Where `ca.key` is at hand a leaf can be issued, so it has to carry all of `names.issued`; else
    `ca.crt` may be absent, and the last certificate of `tls.crt` is the trusted one.
    """
    parts, unreadable = _read(material)
    authority, path = _authority(parts), _path(parts)
    wanted = names.required if material.ca_key is None else names.issued
    defects = (
        *_missing(material),
        *unreadable,
        *_wrong_authority(parts, material, authority),
        *_wrong_leaf(parts, wanted),
        *_wrong_path(parts, path),
        *_wrong_dates(parts, (*(path or parts.chain[:1]), *_known(authority)), now),
    )
    return Examination(tuple(dict.fromkeys(defects)), path, authority)


def examine_beginning(material: Material, now: datetime) -> tuple[Defect, ...]:
    """What is wrong with a set whose leaf is not issued yet."""
    parts, unreadable = _read(material)
    authority = _authority(parts)
    wrong = _wrong_authority(parts, material, authority)
    return (*unreadable, *wrong, *_wrong_dates(parts, _known(authority), now))


def _read(material: Material) -> tuple[_Parts, list[Defect]]:
    defects: list[Defect] = []

    def part(file: File, pem: bytes | None, read: Callable[[bytes], _Read]) -> _Read | None:
        try:
            return None if pem is None else read(pem)
        except UnreadableError as error:
            defects.append(Defect(file, Code.UNREADABLE, f"{error}; put the whole file back"))
            return None

    chain = part(File.LEAF_CERT, material.leaf_cert, read_certificates) or ()
    trusted = part(File.CA_CERT, material.ca_cert, read_certificates) or ()
    if material.ca_cert is None and material.ca_key is None:
        trusted = chain[-1:]
    ca_key = part(File.CA_KEY, material.ca_key, read_key)
    return _Parts(ca_key, trusted, part(File.LEAF_KEY, material.leaf_key, read_key), chain), defects


def _authority(parts: _Parts) -> Certificate | None:
    key = parts.ca_key
    return next((ca for ca in parts.trusted if key is not None and ca.is_of(key)), None)


def _known(authority: Certificate | None) -> tuple[Certificate, ...]:
    return () if authority is None else (authority,)


def _path(parts: _Parts) -> tuple[Certificate, ...]:
    path = parts.chain[:1]
    while path and path[-1] not in parts.trusted:
        issuers = (*parts.trusted, *parts.chain[1:])
        step = next((ca for ca in issuers if ca not in path and path[-1].is_signed_by(ca)), None)
        path = () if step is None else (*path, step)
    return path


def _missing(material: Material) -> Iterator[Defect]:
    needed = {File.LEAF_KEY: material.leaf_key, File.LEAF_CERT: material.leaf_cert}
    if material.ca_key is not None:
        needed[File.CA_CERT] = material.ca_cert
    for file, pem in needed.items():
        if pem is None:
            text = "is missing beside the other files; put it there, or take them away to have all made anew"
            yield Defect(file, Code.MISSING, text)


def _wrong_authority(parts: _Parts, material: Material, authority: Certificate | None) -> Iterator[Defect]:
    if b"PRIVATE KEY-----" in (material.ca_cert or b""):
        text = "holds a private key, and this file is handed to others; take the key out of it"
        yield Defect(File.CA_CERT, Code.KEY_IN_CA_FILE, text)
    if authority is not None and not authority.is_ca:
        yield _not_a_ca(File.CA_CERT, authority)
    if authority is None and parts.ca_key is not None and parts.trusted:
        text = "is not the key of any certificate in ca.crt; put the two files of one CA there"
        yield Defect(File.CA_KEY, Code.KEY_MISMATCH, text)


def _wrong_leaf(parts: _Parts, wanted: tuple[str, ...]) -> Iterator[Defect]:
    if not parts.chain:
        return
    leaf = parts.chain[0]
    if parts.leaf_key is not None and not leaf.is_of(parts.leaf_key):
        text = "is not the key of the first certificate in tls.crt; put the two files of one pair there"
        yield Defect(File.LEAF_KEY, Code.KEY_MISMATCH, text)
    if not leaf.serves:
        text = "may not be used by a server; issue it with the extended key usage serverAuth"
        yield Defect(File.LEAF_CERT, Code.NOT_FOR_SERVERS, text)
    absent = [name for name in wanted if not leaf.carries(name)]
    if absent:
        text = f"carries {_listed(leaf.names)} but not {_listed(absent)}; issue it with these names too"
        yield Defect(File.LEAF_CERT, Code.NAME_MISSING, text)


def _wrong_path(parts: _Parts, path: tuple[Certificate, ...]) -> Iterator[Defect]:
    if parts.chain and parts.trusted and not path:
        subjects = _listed(ca.subject for ca in parts.trusted)
        text = (
            f"was issued by {parts.chain[0].issuer} and is not signed by what ca.crt holds ({subjects}); "
            "put the CA that signed it into ca.crt, or a leaf of this CA into tls.crt"
        )
        yield Defect(File.LEAF_CERT, Code.NOT_SIGNED_BY_CA, text)
    for issuer in path[1:]:
        if not issuer.is_ca:
            yield _not_a_ca(_file_of(issuer, parts), issuer)


def _wrong_dates(parts: _Parts, certificates: tuple[Certificate, ...], now: datetime) -> Iterator[Defect]:
    for certificate in certificates:
        file, spent = _file_of(certificate, parts), certificate.spent(now)
        since, until, at = map(_instant, (certificate.not_before, certificate.not_after, now))
        named = f"({certificate.subject})"
        if spent < 0:
            text = f"{named} is valid from {since} and it is {at}; look at the clock of this machine"
            yield Defect(file, Code.NOT_YET_VALID, text)
        elif spent > 1:
            yield Defect(file, Code.EXPIRED, f"{named} ended at {until} and it is {at}; replace it")
        elif spent > _ENDING:
            text = f"{named} ends at {until}, less than a fifth of its lifetime is left; replace it"
            yield Defect(file, Code.ENDING, text)


def _not_a_ca(file: File, certificate: Certificate) -> Defect:
    text = f"({certificate.subject}) is not marked as a CA; use one with basic constraints CA:TRUE"
    return Defect(file, Code.NOT_A_CA, text)


def _file_of(certificate: Certificate, parts: _Parts) -> File:
    return File.LEAF_CERT if certificate in parts.chain else File.CA_CERT


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"


def _instant(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
