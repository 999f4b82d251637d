"""Judging a pod: which rules are asked, which findings count (docs/admission.md, "Levels")."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from policy import keys
from policy.admission.alignment import is_foreign
from policy.admission.case import Case, Operator, open_case
from policy.admission.defaults import Filled, fill_in
from policy.admission.finding import Finding, Level, Mild
from policy.admission.levels import Asked, Levels, asked
from policy.admission.pins import has_too_few_pins
from policy.admission.safety import changed_keys, forged_on_update
from policy.admission.spelling import has_malformed_pins
from policy.admission.table import FORMAT_RULES, HOPELESS, ON_UPDATE
from policy.facts import Facts
from policy.pod import Pod

_FORGED = "forged-reservation"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is decided about a pod.

    Attributes:
        findings: refusals first, else in the order of the table; none of level off.
        filled: what is filled in, empty where the pod is refused or only updated.
    """

    findings: tuple[Finding, ...] = ()
    filled: Filled = field(default_factory=Filled)

    @property
    def allowed(self) -> bool:
        """Whether the pod is let in."""
        return not self.refusals

    @property
    def refusals(self) -> tuple[Finding, ...]:
        """The findings that refuse it."""
        return tuple(finding for finding in self.findings if finding.level is Level.ENFORCE)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that its owner is warned of."""
        return tuple(finding for finding in self.findings if finding.level is Level.WARN)


def judge_creation(
    pod: Pod, source: Mapping[str, object], operator: Operator, levels: Levels, facts: Facts | None, *, fresh: bool
) -> Verdict:
    """Judge a pod as it is created, and fill in its defaults.

    Args:
        pod: the pod as read from ``source``.
        source: the plain object, which the patch is for.
        operator: how the cluster is set up.
        levels: those in force for the pod's namespace.
        facts: the cluster, None or without nodes where nothing is known of it.
        fresh: whether the facts are young enough to judge by.
    """
    known = facts is not None and bool(facts.inventory.nodes)
    case = open_case(pod, operator, facts if known and fresh else None, is_stale=known and not fresh)
    findings = find(case, levels)
    if any(finding.level is Level.ENFORCE for finding in findings) or not case.gpus or levels.opted_out:
        return Verdict(findings)
    mode = _default_mode(case, levels, findings)
    return Verdict(findings, fill_in(source, case, levels, mode))


def judge_update(pod: Pod, old: Mapping[str, str], user: str, operator: Operator, levels: Levels) -> Verdict:
    """Judge a change of an existing pod, which only a forged reservation ever blocks.

    Args:
        pod: the pod as it would be.
        old: its annotations as they are.
        user: name of who changes it.
        operator: how the cluster is set up.
        levels: those in force for the pod's namespace.
    """
    findings = []
    message = forged_on_update(old, pod.annotations, user, operator.writers)
    if message is not None and levels.by_code[_FORGED] is not Level.OFF:
        findings.append(Finding(_FORGED, levels.by_code[_FORGED], message))
    different = frozenset(changed_keys(old, pod.annotations))
    changed = tuple(key for key in keys.FOUR_KEYS if key in different)
    if changed:
        findings += _late_changes(pod, changed, operator, levels)
    return Verdict(tuple(findings))


def _late_changes(pod: Pod, changed: tuple[str, ...], operator: Operator, levels: Levels) -> list[Finding]:
    """The findings about changed keys, as warnings; a key that was emptied is as good as gone."""
    filled = {key: value for key, value in pod.annotations.items() if value or key not in changed}
    case = open_case(replace(pod, annotations=filled), operator, changed=changed)
    if not case.gpus:
        return []
    rules = [*ON_UPDATE, *(rule for key in changed for rule in FORMAT_RULES[key])]
    return [_capped(finding) for finding in _ask(case, asked(rules, levels.by_code))]


def find(case: Case, levels: Levels) -> tuple[Finding, ...]:
    """Ask every rule that is to be asked about ``case`` and return what holds, refusals first."""
    findings = list(_ask(case, levels.any_pod))
    if case.gpus:
        findings += _ask(case, levels.without_facts)
        if case.facts is not None and _is_placeable(case):
            findings += _ask_facts(case, levels)
    if is_foreign(case):
        findings = [finding if finding.code == _FORGED else _capped(finding) for finding in findings]
    findings.sort(key=lambda finding: finding.level is not Level.ENFORCE)
    return tuple(findings)


def _is_placeable(case: Case) -> bool:
    """Tell whether rules about nodes make sense: a scheduler will choose cards, and the pins can be read."""
    if case.is_mig or case.pod.node_name:
        return False
    return not (case.pin_items or keys.USE_UUID in case.pod.annotations) or not (
        has_malformed_pins(case) or has_too_few_pins(case)
    )


def _ask_facts(case: Case, levels: Levels) -> list[Finding]:
    first = next(_ask(case, levels.room), None)
    findings = [] if first is None else [first]
    findings += _ask(case, levels.partly_unknown)
    if first is None or first.code not in HOPELESS:
        findings += _ask(case, levels.with_facts)
    return findings


def _ask(case: Case, asked_rules: Asked) -> Iterator[Finding]:
    annotations = case.pod.annotations
    for key, alike in asked_rules:
        for rule, level in alike if not key or key in annotations else ():
            message = rule.check(case)
            if message is not None:
                finding = Finding(rule.code, level, message)
                yield _capped(finding) if type(message) is Mild else finding


def _capped(finding: Finding) -> Finding:
    return replace(finding, level=Level.WARN) if finding.level is Level.ENFORCE else finding


def _default_mode(case: Case, levels: Levels, findings: tuple[Finding, ...]) -> str:
    """The namespace's alignment mode if the pod says nothing of it and no finding would follow from it."""
    mode = levels.default_alignment
    if not mode or keys.NUMA_ALIGNMENT in case.pod.annotations or is_foreign(case):
        return ""
    aligned = replace(case.pod, annotations={**case.pod.annotations, keys.NUMA_ALIGNMENT: mode})
    found = find(open_case(aligned, case.operator, case.facts, is_stale=case.is_stale), levels)
    known = {finding.code for finding in findings}
    return mode if all(finding.code in known for finding in found) else ""
