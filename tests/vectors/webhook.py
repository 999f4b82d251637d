"""Answers for the vectors about what the webhook as a whole decides."""

from collections.abc import Mapping
from typing import Any, Final

from policy.admission.case import Operator
from policy.admission.judge import Verdict, judge_creation, judge_update
from policy.admission.levels import resolve
from policy.facts import Facts, Node, Quota, Use, gather
from policy.hami.request import HamiConfig
from policy.keys import INJECTED, JUDGED
from policy.pod import read_pod
from tests.vectors.admission import pod_object
from tests.vectors.classes import means
from tests.vectors.runner import Answer, Vector

WRITERS: Final = frozenset(
    f"system:serviceaccount:{namespace}:{name}"
    for namespace in ("kube-system", "hami-system")
    for name in ("hami-scheduler", "hami-device-plugin")
)

_MARKS: Final = tuple(f"/metadata/annotations/{key.replace('/', '~1')}" for key in (INJECTED, JUDGED))


def _decide(vector: Vector) -> object:
    given: dict[str, Any] = vector.input
    verdict = _verdict(given)
    answer: dict[str, object] = {"allowed": verdict.allowed}
    wanted = vector.expected.get("deny_class") if isinstance(vector.expected, dict) else None
    if wanted is not None:
        codes = [finding.code for finding in verdict.refusals]
        answer["deny_class"] = wanted if means(wanted, codes) else codes
    sets = {operation["path"]: operation["value"] for operation in verdict.filled.operations}
    answer["patch"] = sets or None
    own = {path: value for path, value in sets.items() if not path.startswith(_MARKS)}
    # A vector names the paths that it asserts; a pod may need more.
    asserted = vector.expected.get("patch_sets") if isinstance(vector.expected, dict) else None
    answer["patch_sets"] = {path: own.get(path) for path in asserted} if asserted else own
    return answer


def _verdict(given: Mapping[str, Any]) -> Verdict:
    config, source = given["config"], pod_object(given["pod"])
    hami = HamiConfig(
        scheduler_name=config["schedulerName"],
        overwrite_default_scheduler=config["forceOverwriteDefaultScheduler"],
    )
    operator = Operator(hami=hami, writers=WRITERS)
    levels, pod = resolve({}, static_cluster=False), read_pod(source)
    if given.get("operation") == "UPDATE":
        return judge_update(pod, given.get("oldAnnotations") or {}, given["user"], operator, levels)
    return judge_creation(pod, source, operator, levels, _facts(given.get("quota")), fresh=True)


def _facts(quota: Mapping[str, Any] | None) -> Facts | None:
    if quota is None:
        return None
    memory, cores = quota.get("mem") or {}, quota.get("cores") or {}
    limits = Quota(memory.get("limit"), cores.get("limit"))
    facts = gather([Node("unread", problem="no cards are given")], [], {"default": limits}, {}, 0.0)
    held = Use(0, memory.get("used", 0), cores.get("used", 0))
    return Facts(facts.nodes, {}, facts.inventory, facts.quotas, {"default": held}, {}, 0.0)


ANSWERS: Final[dict[str, Answer]] = {"webhook.decision": _decide}
