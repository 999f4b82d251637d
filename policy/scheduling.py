"""What of Kubernetes' own scheduling rules numafit needs: node selector, required node affinity, taints."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from policy.facts import Node
from policy.hami.golang import MAX_INT64, go_int
from policy.pod import Pod


def allows(pod: Pod, node: Node) -> bool:
    """Tell whether the pod's node selector and required node affinity allow ``node`` (Kubernetes: NodeAffinity)."""
    labels = node.labels
    for key, value in pod.node_selector.items():
        if labels.get(key) != value:
            return False
    return not pod.affinity or _matches_any_term(pod.affinity.get("nodeSelectorTerms"), node)


def _matches_any_term(terms: object, node: Node) -> bool:
    return isinstance(terms, list) and any(_matches_term(term, node) for term in terms)


def _matches_term(term: object, node: Node) -> bool:
    """A term is a conjunction; one without any requirement matches no node (Kubernetes: NodeSelectorTerm)."""
    if not isinstance(term, dict):
        return False
    expressions = term.get("matchExpressions") or []
    fields = term.get("matchFields") or []
    if not isinstance(expressions, list) or not isinstance(fields, list) or not expressions + fields:
        return False
    return all(_matches(item, node.labels) for item in expressions) and all(
        _matches(item, {"metadata.name": node.name}) for item in fields
    )


def _is_in(seen: str | None, values: list[str]) -> bool:
    return seen is not None and seen in values


def _is_not_in(seen: str | None, values: list[str]) -> bool:
    return seen is None or seen not in values


def _exists(seen: str | None, _values: list[str]) -> bool:
    return seen is not None


def _does_not_exist(seen: str | None, _values: list[str]) -> bool:
    return seen is None


def _is_greater(seen: str | None, values: list[str]) -> bool:
    label, bound = _integers(seen, values)
    return label is not None and bound is not None and label > bound


def _is_less(seen: str | None, values: list[str]) -> bool:
    label, bound = _integers(seen, values)
    return label is not None and bound is not None and label < bound


def _integers(seen: str | None, values: list[str]) -> tuple[int | None, int | None]:
    return _integer(seen), _integer(values[0]) if len(values) == 1 else None


def _integer(text: object) -> int | None:
    return go_int(text, MAX_INT64) if isinstance(text, str) else None


_OPERATORS: Final[Mapping[object, Callable[[str | None, list[str]], bool]]] = {
    "In": _is_in,
    "NotIn": _is_not_in,
    "Exists": _exists,
    "DoesNotExist": _does_not_exist,
    "Gt": _is_greater,
    "Lt": _is_less,
}


def _matches(requirement: object, values: Mapping[str, str]) -> bool:
    if not isinstance(requirement, dict):
        return False
    operator, key = requirement.get("operator"), requirement.get("key")
    wanted = requirement.get("values") or []
    if not isinstance(operator, str) or not isinstance(key, str) or not isinstance(wanted, list):
        return False
    test = _OPERATORS.get(operator)
    return test is not None and test(values.get(key), wanted)


def untolerated_taint(pod: Pod, node: Node) -> Mapping[str, Any] | None:
    """Return the first lasting taint that keeps the pod off ``node``.

    Taints of Kubernetes' node lifecycle (`node.kubernetes.io/…`) come and go by themselves and do not count; nor do
    preferences (Kubernetes: TaintToleration).
    """
    for taint in node.taints:
        lasting = not str(taint.get("key", "")).startswith("node.kubernetes.io/")
        if lasting and taint.get("effect") in _HARD and not any(_tolerates(t, taint) for t in pod.tolerations):
            return taint
    return None


_HARD: Final = ("NoSchedule", "NoExecute")
_EQUAL: Final = (None, "", "Equal")


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Tell whether ``toleration`` speaks of ``taint``; an operator that is not known gets the benefit of the doubt."""
    if (toleration.get("effect") or taint.get("effect")) != taint.get("effect"):
        return False
    if (toleration.get("key") or taint.get("key")) != taint.get("key"):
        return False
    if toleration.get("operator") not in _EQUAL:
        return True
    return (toleration.get("value") or "") == (taint.get("value") or "")
