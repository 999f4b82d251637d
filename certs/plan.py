"""What to do with a place's certificates: one pure step at a time, so that a crash between two is harmless.

The files are made in the order of `File`, each from those before it. What a crash leaves behind is therefore
a beginning of that order, and the next start goes on with it. A leaf is issued again for the key that it has:
only `tls.crt` changes, so there is no moment at which key and certificate disagree. (A new key for the leaf
would protect nothing: it lies beside the CA's.)
"""

from dataclasses import astuple, dataclass, field, replace
from datetime import datetime

from certs.examine import Examination, examine, examine_beginning
from certs.material import Code, Defect, File, Material
from certs.names import Names
from certs.pair import KeyPair, Lifetimes, issue_leaf, make_authority, make_key
from certs.reading import Certificate

_RENEW = 2 / 3
_CURED_BY_A_NEW_LEAF = {Code.EXPIRED, Code.NOT_YET_VALID, Code.NAME_MISSING}


@dataclass(frozen=True, slots=True)
class Write:
    """Write this file, then plan again."""

    file: File
    pem: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Serve:
    """Serve this pair. `path` leads from the leaf to what clients trust; `warnings` can wait."""

    pair: KeyPair
    ca_cert: bytes | None
    path: tuple[Certificate, ...]
    warnings: tuple[Defect, ...]


@dataclass(frozen=True, slots=True)
class Refuse:
    """Serve and change nothing: somebody else's files, or half of a set."""

    defects: tuple[Defect, ...]


def plan(material: Material, names: Names, lifetimes: Lifetimes, now: datetime) -> Write | Serve | Refuse:
    """The next step for what a place holds.

    Nothing there, or a beginning: the next file is made. A full set: the leaf is issued again when two thirds
    of its lifetime are over, or when it lacks a name. Without `ca.key`: what was brought is served as it is.
    """
    held = [pem is not None for pem in astuple(material)]
    begun = held.index(False) if False in held else len(held)
    if begun < len(held) and not any(held[begun:]):
        return _gone_on(material, names, lifetimes, now)
    if _wants_a_new_leaf(examine(material, names, now), now):
        return _gone_on(replace(material, leaf_cert=None), names, lifetimes, now)
    return as_it_is(material, names, now)


def as_it_is(material: Material, names: Names, now: datetime) -> Serve | Refuse:
    """Whether `material` can be served without a change."""
    looked = examine(material, names, now)
    blocking = _blocking(looked.defects)
    if blocking or material.leaf_cert is None or material.leaf_key is None:
        return Refuse(blocking)
    pair = KeyPair(material.leaf_cert, material.leaf_key)
    return Serve(pair, material.ca_cert, looked.path, looked.defects)


def _gone_on(material: Material, names: Names, lifetimes: Lifetimes, now: datetime) -> Write | Refuse:
    if material.ca_key is None:
        return Write(File.CA_KEY, make_key())
    blocking = _blocking(examine_beginning(material, now))
    if blocking:
        return Refuse(blocking)
    if material.ca_cert is None:
        return Write(File.CA_CERT, make_authority(material.ca_key, now, lifetimes.ca))
    if material.leaf_key is None:
        return Write(File.LEAF_KEY, make_key())
    ca = KeyPair(material.ca_cert, material.ca_key)
    return Write(File.LEAF_CERT, issue_leaf(ca, material.leaf_key, names.issued, now, lifetimes.leaf))


def _wants_a_new_leaf(looked: Examination, now: datetime) -> bool:
    """Whether a new leaf may cure all that is wrong, or outlasts one that nears its end."""
    blocking = _blocking(looked.defects)
    curable = all(defect.code in _CURED_BY_A_NEW_LEAF for defect in blocking)
    if looked.authority is None or not curable:
        return False
    leaf = looked.path[0]
    return bool(blocking) or (leaf.spent(now) >= _RENEW and leaf.not_after < looked.authority.not_after)


def _blocking(defects: tuple[Defect, ...]) -> tuple[Defect, ...]:
    return tuple(defect for defect in defects if defect.code is not Code.ENDING)
