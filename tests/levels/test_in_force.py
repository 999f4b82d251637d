"""What a policy file says of a namespace, of the cluster and of its nodes; later entries win."""

from typing import Any

import pytest

from policy.admission.case import Operator
from policy.admission.finding import Level
from policy.admission.judge import judge_creation, judge_update
from policy.admission.table import RULES
from policy.facts import Kubelet
from policy.hami.request import HamiConfig
from policy.placement.order import Order
from policy.pod import read_pod
from tests.levels.asking import NOW, in_force
from tests.levels.texts import HEAD
from webhook.cluster.interface import Declared
from webhook.levels.document import Document
from webhook.levels.file import LevelsFile
from webhook.levels.reading import read
from webhook.review import Judging

ENFORCE, WARN, AUDIT, OFF = Level


def gpu_pod(**annotations: str) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "a", "annotations": annotations},
        "spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
    }


def test_without_a_word_every_rule_keeps_its_own_level() -> None:
    levels = in_force("").levels("a", {}, {}, NOW)
    assert levels.by_code == {rule.code: rule.level or WARN for rule in RULES}
    assert (levels.default_alignment, levels.opted_out) == ("", False)


def test_on_a_static_cluster_rules_about_room_refuse() -> None:
    levels = in_force("staticCluster: true").levels("a", {}, {}, NOW)
    assert levels.by_code == {rule.code: rule.level or ENFORCE for rule in RULES}


LAYERS = in_force("""
staticCluster: true
levels: {pin-blank: audit, pin-duplicate: audit, request-exceeds-every-node: warn}
namespaces:
- selector: {matchLabels: {team: red}}
  levels: {pin-blank: enforce, memory-zero: off}
  defaultAlignment: strict
- names: [a, b]
  levels: {pin-blank: off}
- names: [b]
  selector: {matchExpressions: [{key: team, operator: NotIn, values: [red]}]}
  levels: {pin-blank: warn}
  defaultAlignment: best-effort
- names: [c]
  defaultAlignment: none
""")


@pytest.mark.parametrize(
    ("namespace", "labels", "expected", "alignment"),
    [
        ("x", {}, (AUDIT, AUDIT, WARN, WARN), ""),
        ("x", {"team": "red"}, (ENFORCE, AUDIT, OFF, WARN), "strict"),
        ("a", {"team": "red"}, (OFF, AUDIT, OFF, WARN), "strict"),
        ("b", {"team": "red"}, (OFF, AUDIT, OFF, WARN), "strict"),
        ("b", {"team": "blue"}, (WARN, AUDIT, WARN, WARN), "best-effort"),
        ("b", {}, (WARN, AUDIT, WARN, WARN), "best-effort"),
        ("c", {"team": "red"}, (ENFORCE, AUDIT, OFF, WARN), ""),
    ],
)
def test_the_later_entry_wins_code_by_code(
    namespace: str, labels: dict[str, str], expected: tuple[Level, ...], alignment: str
) -> None:
    levels = LAYERS.levels(namespace, labels, {}, NOW)
    codes = ("pin-blank", "pin-duplicate", "memory-zero", "request-exceeds-every-node")
    assert tuple(levels.by_code[code] for code in codes) == expected
    assert levels.default_alignment == alignment


@pytest.mark.parametrize(
    ("expression", "labels", "means"),
    [
        ("{key: k, operator: In, values: [a, b]}", {"k": "b"}, True),
        ("{key: k, operator: In, values: [a, b]}", {"k": "c"}, False),
        ("{key: k, operator: In, values: ['']}", {}, False),
        ("{key: k, operator: NotIn, values: [a]}", {"k": "a"}, False),
        ("{key: k, operator: NotIn, values: [a]}", {}, True),
        ("{key: k, operator: Exists}", {"k": ""}, True),
        ("{key: k, operator: Exists}", {"j": "k"}, False),
        ("{key: k, operator: DoesNotExist}", {}, True),
        ("{key: k, operator: DoesNotExist}", {"k": ""}, False),
        ("{key: k, operator: Exists}, {key: j, operator: Exists}", {"k": ""}, False),
    ],
)
def test_selectors_mean_what_they_mean_to_kubernetes(expression: str, labels: dict[str, str], means: bool) -> None:
    file = in_force(f"namespaces: [{{selector: {{matchExpressions: [{expression}]}}, levels: {{pin-blank: off}}}}]")
    assert file.levels("a", labels, {}, NOW).by_code["pin-blank"] == (OFF if means else WARN)


OPTED_OUT = in_force("""
namespaces:
- selector: {matchLabels: {gpu.example.com/opt-out: "true"}}
  optOut: true
- selector: {}
  levels: {pin-blank: enforce}
  defaultAlignment: best-effort
- names: [kept]
  optOut: false
- names: [lenient]
  optOut: true
  levels: {forged-reservation: audit}
""")


@pytest.mark.parametrize(
    ("namespace", "labels", "others", "forged", "alignment"),
    [
        ("a", {}, {rule.level or WARN for rule in RULES}, ENFORCE, "best-effort"),
        ("a", {"gpu.example.com/opt-out": "true"}, {OFF}, ENFORCE, ""),
        ("kept", {"gpu.example.com/opt-out": "true"}, {rule.level or WARN for rule in RULES}, ENFORCE, "best-effort"),
        ("lenient", {}, {OFF}, AUDIT, ""),
    ],
)
def test_an_opt_out_leaves_forged_reservations_alone(
    namespace: str, labels: dict[str, str], others: set[Level], forged: Level, alignment: str
) -> None:
    levels = OPTED_OUT.levels(namespace, labels, {}, NOW)
    assert levels.by_code["forged-reservation"] == forged
    assert {found for code, found in levels.by_code.items() if code != "forged-reservation"} == others
    assert levels.default_alignment == alignment


def test_pods_of_an_opted_out_namespace_stay_as_they_are() -> None:
    levels = OPTED_OUT.levels("a", {"gpu.example.com/opt-out": "true"}, {}, NOW)
    source = gpu_pod(**{"hami.io/numa-alignment": "nonsense"})
    verdict = judge_creation(read_pod(source), source, OPTED_OUT.operator, levels, None, fresh=True)
    assert (verdict.allowed, verdict.findings, verdict.filled.operations) == (True, (), ())


def test_a_forged_reservation_is_refused_in_an_opted_out_namespace_too() -> None:
    levels = OPTED_OUT.levels("a", {"gpu.example.com/opt-out": "true"}, {}, NOW)
    forged = read_pod(gpu_pod(**{"hami.io/vgpu-devices-allocated": "x"}))
    created = judge_creation(forged, {}, OPTED_OUT.operator, levels, None, fresh=True)
    changed = judge_update(forged, {}, "system:serviceaccount:a:default", OPTED_OUT.operator, levels)
    assert [finding.code for finding in created.refusals + changed.refusals] == ["forged-reservation"] * 2


@pytest.mark.parametrize(
    ("text", "seconds"), [("1s", 1.0), ("90s", 90.0), ("5m", 300.0), ("1h30m", 5400.0), ("24h", 86_400.0)]
)
def test_an_age_is_written_as_durations_are_in_go(text: str, seconds: float) -> None:
    assert in_force(f"factsMaxAge: {text}").facts_max_age == seconds


def test_admission_can_ask_it_as_it_is() -> None:
    judging: Judging = LAYERS
    assert judging.operator.static_cluster is True


def test_the_same_situation_is_resolved_once() -> None:
    first = LAYERS.levels("a", {"team": "red", "x": "1"}, {"p": "1"}, NOW)
    assert LAYERS.levels("b", {"team": "red", "x": "2"}, {"p": "2"}, NOW + 1) is first


def test_what_the_rules_are_told_of_the_operator_stands_in_the_file() -> None:
    document = read(
        HEAD + "staticCluster: true\nrefitEnabled: false\nwriters: [me]\nhami: {schedulerName: s}\norder: hami\n"
    )
    file = LevelsFile(document, authority="hami")
    assert file.operator == Operator(
        hami=HamiConfig(scheduler_name="s"),
        static_cluster=True,
        refit_enabled=False,
        authority="hami",
        writers=frozenset({"me"}),
    )
    assert file.order is Order.HAMI


def test_without_a_file_the_defaults_judge() -> None:
    file = LevelsFile(Document(version="numafit.io/v1"))
    assert (file.facts_max_age, file.order, file.declared) == (120.0, Order.NUMAFIT, ())
    assert "system:serviceaccount:kube-system:hami-scheduler" in file.operator.writers


def test_what_is_said_of_kubelets_is_handed_on_with_the_later_first() -> None:
    file = in_force("""
nodes:
- {selector: {}, topologyPolicy: best-effort, advertisesNuma: false}
- {selector: {matchLabels: {pool: strict}}, topologyPolicy: single-numa-node, topologyScope: pod}
""")
    assert file.declared == (
        Declared({"pool": "strict"}, Kubelet("single-numa-node", "pod", None)),
        Declared({}, Kubelet("best-effort", None, False)),
    )
