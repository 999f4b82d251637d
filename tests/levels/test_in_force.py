"""What follows from a rule for one pod: later entries win, exemptions lower, and end by the clock."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.admission.case import Operator
from policy.admission.finding import Level
from policy.admission.judge import judge_creation, judge_update
from policy.admission.table import BY_CODE, RULES
from policy.facts import Kubelet
from policy.hami.request import HamiConfig
from policy.placement.order import Order
from policy.pod import read_pod
from tests.levels.texts import HEAD
from webhook.cluster.interface import Declared
from webhook.levels.document import Document
from webhook.levels.file import LevelsFile
from webhook.levels.reading import read
from webhook.review import Judging

ENFORCE, WARN, AUDIT, OFF = Level


def in_force(text: str) -> LevelsFile:
    return LevelsFile(read(HEAD + text))


def at(moment: str) -> float:
    return datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()


NOW = at("2026-12-01T12:00:00")


def level(
    file: LevelsFile,
    code: str,
    namespace: str = "a",
    labels: Mapping[str, str] | None = None,
    pod_labels: Mapping[str, str] | None = None,
    now: float = NOW,
) -> Level:
    return file.levels(namespace, labels or {}, pod_labels or {}, now).by_code[code]


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
    assert level(file, "pin-blank", labels=labels) == (OFF if means else WARN)


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


EXEMPTIONS = in_force("""
levels: {pin-duplicate: audit}
exemptions:
- {codes: [privileged-gpu, pin-duplicate], namespaces: [a, b], level: warn, owner: o, reason: r, expires: 2026-12-31}
- {codes: [privileged-gpu], selector: {matchLabels: {app: x}}, owner: o, reason: r, expires: 2026-12-01T12:00:00Z}
- codes: [forged-reservation]
  namespaces: [b]
  selector: {matchLabels: {app: x}}
  level: audit
  owner: o
  reason: r
  expires: 2027-01-01
""")


@pytest.mark.parametrize(
    ("namespace", "pod_labels", "now", "expected"),
    [
        ("c", {}, NOW - 1, (ENFORCE, AUDIT, ENFORCE)),
        ("a", {}, NOW - 1, (WARN, AUDIT, ENFORCE)),
        ("c", {"app": "x"}, NOW - 1, (OFF, AUDIT, ENFORCE)),
        ("a", {"app": "x"}, NOW - 1, (OFF, AUDIT, ENFORCE)),
        ("b", {"app": "x"}, NOW - 1, (OFF, AUDIT, AUDIT)),
        ("b", {"app": "y"}, NOW - 1, (WARN, AUDIT, ENFORCE)),
        ("c", {"app": "x"}, NOW, (ENFORCE, AUDIT, ENFORCE)),
        ("a", {"app": "x"}, NOW, (WARN, AUDIT, ENFORCE)),
        ("a", {}, at("2026-12-31T23:59:59.9"), (WARN, AUDIT, ENFORCE)),
        ("a", {}, at("2027-01-01T00:00:00"), (ENFORCE, AUDIT, ENFORCE)),
    ],
)
def test_an_exemption_lowers_for_its_pods_until_its_time_is_over(
    namespace: str, pod_labels: dict[str, str], now: float, expected: tuple[Level, ...]
) -> None:
    by_code = EXEMPTIONS.levels(namespace, {}, pod_labels, now).by_code
    assert (by_code["privileged-gpu"], by_code["pin-duplicate"], by_code["forged-reservation"]) == expected


def test_an_expired_exemption_is_said_with_owner_codes_and_date() -> None:
    assert EXEMPTIONS.expired(NOW - 1) == ()
    assert EXEMPTIONS.expired(NOW) == (
        "exemptions[1] of 'o' (privileged-gpu) expired 2026-12-01T12:00:00Z and no longer counts; renew or remove it",
    )
    assert len(EXEMPTIONS.expired(at("2027-01-02T00:00:00"))) == 3


@pytest.mark.parametrize(
    ("expires", "end"),
    [
        ("1970-01-01", 86_400.0),
        ("9999-12-31", 253_402_300_800.0),
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T00:00:00.250+00:00", 0.25),
        ("1970-01-02T01:00:00.123456789-23:00", 172_800.123456),
        ("0001-01-01T00:00:00+14:00", -62_135_647_200.0),
    ],
)
def test_an_expiry_ends_at_its_moment_and_a_date_at_its_last(expires: str, end: float) -> None:
    file = in_force(
        f"exemptions: [{{codes: [no-containers], selector: {{}}, owner: o, reason: r, expires: {expires}}}]"
    )
    assert level(file, "no-containers", now=end) == ENFORCE
    assert level(file, "no-containers", now=end - 0.001) == OFF


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


CODES = ("pin-blank", "privileged-gpu", "request-exceeds-every-node", "forged-reservation")
LABELS = st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from(["1", "2"]))
NAMES = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=2)
WORDS = st.sampled_from(["enforce", "warn", "audit", "off"])


def some_levels(codes: tuple[str, ...]) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(st.sampled_from(codes), WORDS, max_size=3)


def entry(*, named: bool, out: bool) -> st.SearchStrategy[dict[str, Any]]:
    codes = CODES[3:] if out else CODES[: 4 if named else 3]
    return st.fixed_dictionaries(
        {"levels": some_levels(codes) if codes != CODES[3:] or named else st.just({})}
        | ({"names": NAMES} if named else {"selector": st.fixed_dictionaries({"matchLabels": LABELS})})
        | ({"optOut": st.just(True)} if out else {}),
        optional={} if out else {"optOut": st.just(False), "defaultAlignment": st.sampled_from(["strict", "none"])},
    )


ENTRIES = st.lists(
    st.one_of([entry(named=named, out=out) for named in (True, False) for out in (True, False)]), max_size=4
)
EXEMPT = st.lists(
    st.fixed_dictionaries(
        {
            "codes": st.lists(st.sampled_from(CODES), min_size=1, max_size=2),
            "namespaces": NAMES,
            "selector": st.fixed_dictionaries({"matchLabels": LABELS}),
            "level": st.sampled_from(["warn", "audit", "off"]),
            "owner": st.just("o"),
            "reason": st.just("r"),
            "expires": st.sampled_from(["2026-11-30", "2026-12-01"]),
        }
    ),
    max_size=3,
)


def naive(file: dict[str, Any], code: str, namespace: str, labels: dict[str, str], pod: dict[str, str]) -> str:
    """The level of one code, found by walking the file as docs/levels.md tells it."""

    def matches(selector: dict[str, Any], seen: dict[str, str]) -> bool:
        return all(seen.get(key) == value for key, value in selector.get("matchLabels", {}).items())

    found = file["levels"].get(code) or BY_CODE[code].level or ("enforce" if file["staticCluster"] else "warn")
    out = False
    for each in file["namespaces"]:
        if namespace in each.get("names", [namespace]) and matches(each.get("selector", {}), labels):
            found = each["levels"].get(code, found)
            out = each.get("optOut", out)
    if out and code != "forged-reservation":
        found = "off"
    scale = ["off", "audit", "warn", "enforce"]
    for each in file["exemptions"]:
        counts = each["expires"] == "2026-12-01" and namespace in each["namespaces"]
        if counts and code in each["codes"] and matches(each["selector"], pod):
            found = scale[min(scale.index(found), scale.index(each["level"]))]
    return str(found)


@settings(max_examples=100, deadline=None)
@given(some_levels(CODES), st.booleans(), ENTRIES, EXEMPT, LABELS, LABELS)
def test_every_level_is_what_a_walk_over_the_file_finds(
    levels: dict[str, str],
    static: bool,
    entries: list[dict[str, Any]],
    exemptions: list[dict[str, Any]],
    labels: dict[str, str],
    pod_labels: dict[str, str],
) -> None:
    written = {
        "version": "numafit.io/v1",
        "levels": levels,
        "staticCluster": static,
        "namespaces": entries,
        "exemptions": exemptions,
    }
    file = LevelsFile(Document.model_validate(written))
    for namespace in ("a", "b", "c"):
        by_code = file.levels(namespace, labels, pod_labels, NOW).by_code
        assert {code: by_code[code] for code in CODES} == {
            code: naive(written, code, namespace, labels, pod_labels) for code in CODES
        }
