"""`numafit certs`: the certificates that API server and device plugin verify, made, shown and verified."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from certs.examine import Examination, examine
from certs.material import CertificateError
from certs.names import Names, service_names
from certs.reading import Certificate
from certs.store import DirectoryStore, read_material
from webhook.cli import screen
from webhook.cli.config import read_settings
from webhook.cli.dial import dial
from webhook.cli.errors import FINDINGS, InputError
from webhook.cli.examples import beginning_with
from webhook.cli.screen import Form

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help=beginning_with(
        ["numafit certs show --dir ./tls"],
        "Make what is missing or near its end, show what would be served, and verify it, also on a running server "
        "(docs/certificates.md).",
    ),
)

Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="settings file: directory and names")]
Directory = Annotated[Path | None, typer.Option("--dir", metavar="DIR", help="instead of the one in the settings")]
Output = Annotated[Form, typer.Option("--output", "-o", help="for people or for programs")]


@app.command(
    short_help="Make what is missing, renew what nears its end.",
    help=beginning_with(
        ["numafit certs init --dir ./tls"],
        "Make a CA and the server's certificate where there are none, as the server does at its first start, and renew "
        "what nears its end. What is good is kept as it is. Exit code 2: what is there is neither good nor numafit's.",
    ),
)
def init(directory: Directory = None, config: Config = None) -> None:
    """Make what is missing."""
    place, names = _place(directory, config)
    try:
        served = DirectoryStore(place, names).ensure(datetime.now(UTC))
    except CertificateError as error:
        raise InputError(str(error)) from None
    for warning in served.warnings:
        screen.say(str(warning))
    screen.say(f"{place} is good until {_instant(served.path[0].not_after)}")


@app.command(
    short_help="Show what would be served.",
    help=beginning_with(
        ["numafit certs show --dir ./tls", "numafit certs show -o json"],
        "Show the certificates that would be served, the server's first, the trusted one last, and what is wrong.",
    ),
)
def show(directory: Directory = None, config: Config = None, output: Output = Form.TABLE) -> None:
    """Show certificates."""
    place, names = _place(directory, config)
    looked = _examined(place, names)
    if output is Form.JSON:
        certificates = [_as_json(one) for one in looked.path]
        defects = [{"file": one.file, "code": one.code, "text": one.text} for one in looked.defects]
        screen.document("Certificates", {"directory": str(place), "certificates": certificates, "defects": defects})
        return
    for position, certificate in enumerate(looked.path):
        if position:
            screen.put("")
        screen.table((), _described(certificate))
    for defect in looked.defects:
        screen.say(f"{place}: {defect.code}: {defect}")


@app.command(
    short_help="Say what is wrong, here and on a running server.",
    help=beginning_with(
        [
            "numafit certs verify --dir ./tls",
            "numafit certs verify --dir ./tls --host numafit.numafit.svc --port 9443",
        ],
        "Say everything that is wrong with the certificates of a directory. With --host also call a running server as "
        "its clients do, trusting its ca.crt alone. Exit codes: 0 nothing is wrong, 1 something is, 3 nobody answers.",
    ),
)
def verify(
    directory: Directory = None,
    config: Config = None,
    host: Annotated[str, typer.Option(help="call a running server by this name or address")] = "",
    port: Annotated[int, typer.Option(min=1, max=65535, help="its TLS port")] = 9443,
) -> None:
    """Verify certificates."""
    place, names = _place(directory, config)
    looked = _examined(place, names)
    problems = [f"{place}: {defect.code}: {defect}" for defect in looked.defects]
    if host and not problems:
        problems += dial(host, port, looked.path)
    for problem in problems:
        screen.put(problem)
    if problems:
        raise typer.Exit(FINDINGS)
    screen.say(f"{place} is good until {_instant(looked.path[0].not_after)}")


def _place(directory: Path | None, config: Path | None) -> tuple[Path, Names]:
    tls = read_settings(config, {"tls.directory": directory}).settings.tls
    try:
        return tls.directory, service_names(tls.service_name, tls.namespace, tls.extra_dns_names)
    except ValueError as error:
        raise InputError(f"tls.extra_dns_names: {error}") from None


def _examined(place: Path, names: Names) -> Examination:
    if not place.is_dir():
        raise InputError(f"{place} is no directory; `numafit certs init --dir {place}` makes one with certificates")
    if not any(place.iterdir()):
        raise InputError(f"{place} is empty; `numafit certs init --dir {place}` makes certificates there")
    try:
        material = read_material(place)
    except CertificateError as error:
        raise InputError(str(error)) from None
    return examine(material, names, datetime.now(UTC))


def _described(certificate: Certificate) -> Iterator[tuple[str, str]]:
    yield "subject", certificate.subject
    yield "issuer", certificate.issuer
    yield "serial", certificate.serial
    yield "sha-256", certificate.sha256
    yield "key", certificate.key_type
    yield "valid", f"{_instant(certificate.not_before)} to {_instant(certificate.not_after)}"
    if certificate.names:
        yield "names", ", ".join(certificate.names)


def _as_json(certificate: Certificate) -> dict[str, object]:
    return {
        "subject": certificate.subject,
        "issuer": certificate.issuer,
        "serial": certificate.serial,
        "sha256": certificate.sha256,
        "keyType": certificate.key_type,
        "notBefore": _instant(certificate.not_before),
        "notAfter": _instant(certificate.not_after),
        "names": list(certificate.names),
        "isCA": certificate.is_ca,
    }


def _instant(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
