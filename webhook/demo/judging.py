"""The first half of the demo: pods as their owners write them, and what admission makes of them."""

import difflib
import shlex
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import jsonpatch
import yaml

from webhook.cli.errors import OutsideError
from webhook.demo.client import Client, patch_of
from webhook.demo.stage import Stage
from webhook.yaml_text import parse

HERE: Final = Path(__file__).parent

Manifest = dict[str, Any]
"""A pod as a plain Kubernetes object."""


def typed(path: Path) -> str:
    """``path`` as one types it in a shell from here."""
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))


def read_manifest(name: str) -> Manifest:
    """The pod in the bundled file ``name``."""
    pod: Manifest = parse((HERE / name).read_text(encoding="utf-8"))[0]
    return pod


def show_refused(client: Client, stage: Stage) -> None:
    """A pod that could never run as its owner means it."""
    stage.step(
        "Refused, and all that is wrong is said at once",
        'Two GPUs are asked for and one is named, so HAMi lets the pod wait for ever; and it reads "yes" as false '
        "without a word. The owner should hear of both, now.",
    )
    response = _applied(client, stage, "refused.yaml")
    status = response.get("status", {})
    place = f'error when creating "{typed(HERE / "refused.yaml")}"'
    stage.said(
        f"Error from server ({status.get('reason')}): {place}: admission webhook denied the request:", "bold red"
    )
    stage.said(status.get("message", ""), "red")
    if response["allowed"]:
        raise OutsideError("admission let refused.yaml pass; the policy file of the demo does not fit its manifests")


def show_warned(client: Client, stage: Stage) -> None:
    """A pod that runs, but not as its owner thinks."""
    stage.step(
        "Warned: it runs, but not as its owner thinks",
        "One GPU is pinned. Kubelets of this cluster may hand over another one all the same; the owner meant to "
        "have that refused, but a slip in an annotation's key is no error to Kubernetes.",
    )
    response = _applied(client, stage, "warned.yaml")
    for warning in response.get("warnings", ()):
        stage.said(f"Warning: {warning}", "yellow")
    stage.said(f"allowed: {str(response['allowed']).lower()}")


def show_filled(client: Client, stage: Stage) -> Manifest:
    """A pod that says little; returns it as it is stored."""
    stage.step(
        "Filled in: the pod says what it needs, numafit adds what is missing",
        "The owner asks for memory on an H100 and nothing else. The patch (lines with +) adds the rest, says so in "
        "an annotation, and touches nothing that the owner wrote.",
    )
    written = read_manifest("tuner.yaml")
    stored = _stored(written, _applied(client, stage, "tuner.yaml"))
    for line in _compared(written, stored):
        stage.said(line, "green" if line.startswith("+") else "")
    return _created(stored)


def admit(client: Client, name: str) -> Manifest:
    """Have the bundled pod ``name`` admitted, and return it as it is stored."""
    written = read_manifest(name)
    return _created(_stored(written, client.review(written)))


def _applied(client: Client, stage: Stage, name: str) -> Mapping[str, Any]:
    stage.command(f"kubectl apply -f {typed(HERE / name)}")
    return client.review(read_manifest(name))


def _stored(written: Manifest, response: Mapping[str, Any]) -> Manifest:
    stored: Manifest = jsonpatch.apply_patch(written, patch_of(response))
    return stored


def _created(pod: Manifest) -> Manifest:
    """The pod with the UID that an API server gives it."""
    return {**pod, "metadata": {**pod["metadata"], "uid": str(uuid.uuid4())}}


def _compared(before: Manifest, after: Manifest) -> Iterator[str]:
    """The stored pod line by line, with a mark on each line that was not written by its owner."""
    written, stored = (yaml.safe_dump(pod, sort_keys=False, width=2**31).splitlines() for pod in (before, after))
    return (line for line in difflib.ndiff(written, stored) if not line.startswith("?"))
