"""The settings of the server, all of them in one model. `webhook.sources` fills it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.fields import FieldInfo

VERSION = "numafit.io/v1"
PREFIX = "NUMAFIT_"


def _number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("Input should be a number")  # noqa: TRY004 - pydantic reads a ValueError
    return value


def _items(value: object) -> object:
    """A list may be written as one text with commas, as the environment has no lists."""
    return [item.strip() for item in value.split(",") if item.strip()] if isinstance(value, str) else value


def _dns_label(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", value):
        raise ValueError("Input should be a name of up to 63 lower case letters, digits and inner dashes")
    return value


_Number = BeforeValidator(_number)
_Label = Annotated[str, AfterValidator(_dns_label)]
_Name = Annotated[str, Field(min_length=1, max_length=253)]
_Port = Annotated[int, _Number, Field(ge=0, le=65535)]
_Seconds = Annotated[float, _Number, Field(gt=0, le=300, allow_inf_nan=False)]
_Bytes = Annotated[int, _Number, Field(ge=1024, le=1 << 30)]
_Count = Annotated[int, _Number, Field(ge=0, le=2**31 - 1)]
_Paths = Annotated[tuple[Path, ...], BeforeValidator(_items)]
_Names = Annotated[tuple[_Name, ...], BeforeValidator(_items)]


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Listen(_Group):
    """Where the two listeners are. Port 0 takes any free port; the ready file tells which."""

    host: str = Field(default="", description="address of both listeners; empty is every address, IPv4 and IPv6")
    port: _Port = Field(default=9443, description="TLS port of the operations")
    ops_port: _Port = Field(default=8080, description="plain port of health and metrics")


class Limits(_Group):
    """What the server takes on at once. Above it a request is turned away immediately."""

    threads: Annotated[int, _Number, Field(ge=4, le=512)] = Field(
        default=128, description="threads that serve requests; a slow client holds one until a deadline"
    )
    in_flight: Annotated[int, _Number, Field(ge=1, le=4096)] = Field(
        default=64, description="requests that are decided at the same time"
    )
    held_bytes: _Bytes = Field(default=64 << 20, description="bytes of all request bodies in memory together")
    webhook_bytes: _Bytes = Field(default=7 << 20, description="bytes of one AdmissionReview")
    refit_bytes: _Bytes = Field(default=1 << 20, description="bytes of one refit request")


class Deadlines(_Group):
    """How long a client may take, in seconds, before its connection is cut."""

    handshake: _Seconds = Field(default=5.0, description="seconds for the TLS handshake")
    header: _Seconds = Field(default=5.0, description="seconds for request line and header")
    body: _Seconds = Field(default=10.0, description="seconds for the body")
    answer: _Seconds = Field(default=5.0, description="seconds in which the client takes its answer")


class Log(_Group):
    """The log on stderr."""

    format: Literal["text", "json"] = Field(default="text", description="form of a line")
    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="least level that is written; one line per decision is info"
    )


class Tls(_Group):
    """The certificate that API server and device plugin verify."""

    directory: Path = Field(default=Path("numafit-certs"), description="where key pairs are kept")
    publish: Path | None = Field(default=None, description="file that gets the CA certificate for the device plugin")
    service_name: _Label = Field(default="numafit", description="Service in front of the server, for the names served")
    namespace: _Label = Field(default="numafit", description="namespace of that Service")
    extra_dns_names: _Names = Field(default=(), description="further names that the certificate is valid for")


class Settings(_Group):
    """All settings of `numafit serve`."""

    version: Literal["numafit.io/v1"] = Field(default="numafit.io/v1", description="version of these settings")
    cluster_files: _Paths = Field(default=(), description="files that hold the cluster to serve")
    authority: Literal["self", "hami"] = Field(default="self", description="who owns the accounting of reservations")
    extender: bool = Field(
        default=False,
        description="whether /filter and /bind are served; they trust every caller, so let only the scheduler connect",
    )
    levels_file: Path | None = Field(default=None, description="policy file with the level of each rule")
    refit_token_file: Path | None = Field(default=None, description="file with the token that a device plugin presents")
    ready_file: Path | None = Field(default=None, description="file that names both ports once the server answers")
    drain_seconds: Annotated[float, _Number, Field(ge=0, le=300, allow_inf_nan=False)] = Field(
        default=10.0, description="seconds between SIGTERM and the stop, in which requests are still answered"
    )
    listen: Listen = Field(default_factory=Listen)
    limits: Limits = Field(default_factory=Limits)
    deadlines: Deadlines = Field(default_factory=Deadlines)
    log: Log = Field(default_factory=Log)
    tls: Tls = Field(default_factory=Tls)


class Described(NamedTuple):
    """One setting for people: its dotted name, its variable, its default and its meaning."""

    name: str
    variable: str
    default: object
    meaning: str


def _leaves() -> Iterator[tuple[str, FieldInfo]]:
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, _Group):
            yield from ((f"{name}.{leaf}", info) for leaf, info in field.annotation.model_fields.items())
        else:
            yield name, field


LEAVES = dict(_leaves())
"""Each setting by its dotted name."""

GROUPS = frozenset(name.split(".")[0] for name in LEAVES if "." in name)
"""The first half of the dotted names that have two."""


def variable(name: str) -> str:
    """The environment variable of a dotted name: `listen.ops_port` is `NUMAFIT_LISTEN__OPS_PORT`."""
    return PREFIX + name.replace(".", "__").upper()


def described() -> Iterator[Described]:
    """Every setting in the order of the model."""
    for name, field in LEAVES.items():
        yield Described(name, variable(name), field.default, field.description or "")
