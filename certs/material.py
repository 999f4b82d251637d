"""The four files of a place that keeps certificates, and what can be wrong with them."""

from dataclasses import dataclass, field
from enum import StrEnum


class File(StrEnum):
    """The files in the order in which they are made, each from those before it."""

    CA_KEY = "ca.key"
    CA_CERT = "ca.crt"
    LEAF_KEY = "tls.key"
    LEAF_CERT = "tls.crt"


@dataclass(frozen=True, slots=True)
class Material:
    """PEM bytes as they were found, None where there is no such file."""

    ca_key: bytes | None = field(default=None, repr=False)
    ca_cert: bytes | None = None
    leaf_key: bytes | None = field(default=None, repr=False)
    leaf_cert: bytes | None = None


class Code(StrEnum):
    """What can be wrong. `ending` alone does not keep a pair from being served."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    KEY_MISMATCH = "key-mismatch"
    KEY_IN_CA_FILE = "key-in-ca-file"
    NOT_A_CA = "not-a-ca"
    NOT_SIGNED_BY_CA = "not-signed-by-ca"
    NOT_FOR_SERVERS = "not-for-servers"
    NAME_MISSING = "name-missing"
    NOT_YET_VALID = "not-yet-valid"
    EXPIRED = "expired"
    ENDING = "ending"
    FOREIGN_FILES = "foreign-files"
    NOT_WRITABLE = "not-writable"
    UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is wrong. `text` goes on after the file's name, and ends with what to do."""

    file: str
    code: Code
    text: str

    def __str__(self) -> str:
        return f"{self.file} {self.text}"


class CertificateError(Exception):
    """There is nothing here that may be served, or it cannot be put where it is needed; `defects` say why."""

    def __init__(self, place: object, *defects: Defect) -> None:
        super().__init__(f"{place}: {'; '.join(map(str, defects))}")
        self.defects = defects
