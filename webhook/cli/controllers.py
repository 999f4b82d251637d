"""What controllers add to the pods that they make of their templates, as far as admission asks for it."""

from dataclasses import replace
from typing import Final

from policy.membership import Membership
from policy.pod import MalformedObjectError, Pod
from webhook.cli.makers import minimum
from webhook.cli.quorums import MalformedGroupError
from webhook.cli.templates import Workload
from webhook.cluster.shapes import mapping

_VOLCANO: Final = "batch.volcano.sh/"


def as_made(workload: Workload, pod: Pod) -> Pod:
    """Return ``pod``, read from a template, as its controller makes it: for which scheduler, in which group.

    Raises:
        MalformedObjectError: the owner's `minAvailable` is no count.
    """
    if not workload.steps:
        return pod
    made = replace(pod, scheduler_name=pod.scheduler_name or _scheduler(workload))
    if pod.group or not _is_gang(workload):
        return made
    return replace(made, memberships=(*pod.memberships, Membership(workload.kind, workload.name)))


def _scheduler(workload: Workload) -> str:
    """The scheduler of a Volcano Job is that of its pods, unless a template names one (Volcano: job controller)."""
    if not str(workload.owner.get("apiVersion")).startswith(_VOLCANO):
        return ""
    return str(mapping(workload.owner.get("spec")).get("schedulerName") or "")


def _is_gang(workload: Workload) -> bool:
    """Whether the owner's pods start together: `minAvailable` of Volcano's Job and of Kubeflow's training jobs."""
    try:
        least = minimum(workload.owner, workload.kind)
    except MalformedGroupError as error:
        raise MalformedObjectError(str(error)) from None
    return least is not None and least > 1
