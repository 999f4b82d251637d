"""The pods of one manifest, templates included; what cannot be read ends the command."""

from collections.abc import Iterator

from policy.pod import MalformedObjectError, Pod, read_pod
from webhook.cli.errors import InputError
from webhook.cli.manifests import Document, read
from webhook.cli.templates import Workload, workloads


def read_documents(name: str) -> Iterator[Document]:
    """Read the documents of a file or of stdin.

    Raises:
        InputError: one of them is no manifest.
    """
    for document in read([name]):
        if not isinstance(document, Document):
            raise InputError(str(document))
        yield document


def read_pods(name: str, namespace: str) -> Iterator[tuple[str, Pod]]:
    """Read pods and templates, each with a title for people.

    Raises:
        InputError: there is none, or one cannot be read.
    """
    found = False
    for document in read_documents(name):
        for workload in workloads(document.value):
            found = True
            yield title(workload, namespace), pod_of(workload, namespace, name)
    if not found:
        raise InputError(f"{name} holds no pod and no template of pods; name a file that does")


def title(workload: Workload, namespace: str) -> str:
    """Name a pod, or a template by what keeps it and where."""
    where = f" at {workload.path}" if workload.path and workload.path != "/spec/template" else ""
    return f"{workload.kind} {workload.namespace or namespace}/{workload.name}{where}"


def pod_of(workload: Workload, namespace: str, file: str) -> Pod:
    """Read the pod that comes of a workload.

    Raises:
        InputError: it lacks the shape of one.
    """
    where = workload.namespace or namespace
    try:
        return read_pod(workload.pod(where), where)
    except MalformedObjectError as error:
        raise InputError(f"{file}: {workload.kind} {workload.name}: {error}") from None
