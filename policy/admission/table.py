"""The table of rules: code, level, need of facts, text, check. `docs/codes.md` is generated from it."""

from typing import Final

from policy import keys
from policy.admission import (
    alignment,
    amounts,
    capacity,
    kubelet,
    pins,
    safety,
    selection,
    slips,
    spelling,
    topology,
)
from policy.admission.case import Case
from policy.admission.finding import Level, Rule

ENFORCE, WARN, OFF = Level.ENFORCE, Level.WARN, Level.OFF


def _key_changed_late(case: Case) -> str:
    """One of the four keys of an existing pod changes: after placement it acts only in a later refit."""
    return f"{', '.join(case.changed)} changed late: it acts only in a later refit; create the pod anew."


def _not_a_gpu_pod(case: Case) -> str | None:
    """One of the four keys on a pod that asks for no GPU."""
    key = next((key for key in keys.FOUR_KEYS if key in case.pod.annotations), None)
    if key is None or case.gpus:
        return None
    return f"{key} has no effect: no container asks for {case.operator.hami.count}; remove it."


def _facts_stale(case: Case) -> str | None:
    """Numafit's view of the cluster is too old to judge by; only rules that need none were judged."""
    if not case.is_stale:
        return None
    return "numafit's view of the cluster is too old, so nothing was judged by it; tell its operator."


def _on_owner(_case: Case) -> str | None:
    """One of HAMi's keys stands on a workload's own metadata instead of its pod template's.

    Judged by the command line only.
    """
    return None


SPELLING: Final = (
    Rule("alignment-unknown", ENFORCE, spelling.alignment_unknown, "Write one of the two, or remove the key."),
    Rule("bind-not-boolean", ENFORCE, spelling.bind_not_boolean, 'Write "true" or "false", without blanks.'),
    Rule("pin-blank", WARN, spelling.pin_blank, "Name GPU UUIDs, or remove the key."),
    Rule("pin-list-empty", ENFORCE, spelling.pin_list_empty, "Name GPU UUIDs, or remove the key."),
    Rule("pin-is-mig", ENFORCE, spelling.pin_is_mig, "Write the UUID of the GPU."),
    Rule("pin-is-index", ENFORCE, spelling.pin_is_index, "Write the UUID of the GPU."),
    Rule("pin-is-replica", ENFORCE, spelling.pin_is_replica, "Leave the number out."),
    Rule(
        "pin-has-separator",
        ENFORCE,
        spelling.pin_has_separator,
        "Separate UUIDs by commas, without quotes and brackets.",
    ),
    Rule("exclusion-is-mig", ENFORCE, spelling.exclusion_is_mig, "Write the UUID of the GPU."),
    Rule("exclusion-is-index", ENFORCE, spelling.exclusion_is_index, "Write the UUID of the GPU."),
    Rule("exclusion-is-replica", ENFORCE, spelling.exclusion_is_replica, "Leave the number out."),
    Rule(
        "exclusion-has-separator",
        ENFORCE,
        spelling.exclusion_has_separator,
        "Separate UUIDs by commas, without quotes and brackets.",
    ),
    Rule("pin-duplicate", WARN, spelling.pin_duplicate, "Name each GPU once."),
)

WITHOUT_FACTS: Final = (
    *SPELLING,
    Rule("pinned-fewer-than-requested", ENFORCE, pins.pinned_fewer_than_requested, "Name as many, or ask for fewer."),
    Rule("pinned-and-excluded", ENFORCE, pins.pinned_and_excluded, "Do not name a GPU in both lists."),
    Rule(
        "pinned-fewer-than-whole-cards",
        ENFORCE,
        pins.pinned_fewer_than_whole_cards,
        "Pin more GPUs, or ask for part of the memory and cores.",
    ),
    Rule("pin-also-excluded", WARN, pins.pin_also_excluded, "Name it in one of the two lists."),
    Rule("pinned-no-room-to-refit", WARN, pins.pinned_no_room_to_refit, "Pin one GPU more than the pod needs."),
    Rule(
        "pinned-whole-card-replicated",
        WARN,
        pins.pinned_whole_card_replicated,
        "Pin as many GPUs as all replicas take, or run one replica.",
    ),
    Rule("alignment-on-mig", ENFORCE, alignment.alignment_on_mig, "Remove `hami.io/numa-alignment`."),
    Rule("strict-not-enforced", WARN, alignment.strict_not_enforced, "Use `best-effort`, or have the refit enabled."),
    Rule(
        "alignment-without-exclusive-cpus",
        WARN,
        alignment.alignment_without_exclusive_cpus,
        "Give each container equal cpu and memory requests and limits, cpu in whole CPUs.",
    ),
    Rule(
        "alignment-with-gpu-init",
        WARN,
        alignment.alignment_with_gpu_init,
        "Ask for GPUs in app containers or sidecars only.",
    ),
    Rule(
        "strict-restarts-forever",
        WARN,
        alignment.strict_restarts_forever,
        "Use `best-effort`, or a Job with a back-off limit.",
    ),
    Rule("strict-in-group", WARN, alignment.strict_in_group, "Use `best-effort`."),
    Rule("bind-without-effect", OFF, alignment.bind_without_effect, "Remove the key."),
    Rule("visible-devices-env", WARN, alignment.visible_devices_env, "Remove the variable."),
    Rule("foreign-scheduler", WARN, alignment.foreign_scheduler, "Leave `schedulerName` out."),
    Rule("privileged-gpu", ENFORCE, safety.privileged_gpu, "Drop `privileged`."),
    Rule("node-name-preset", ENFORCE, safety.node_name_preset, "Use a node selector or node affinity."),
    Rule("quantity-not-whole", ENFORCE, amounts.quantity_not_whole, "Write a whole number; memory is in MiB."),
    Rule("cores-out-of-range", ENFORCE, amounts.cores_out_of_range, "Write 0 to 100."),
    Rule("percent-out-of-range", ENFORCE, amounts.percent_out_of_range, "Write 0 to 100."),
    Rule("memory-given-twice", WARN, amounts.memory_given_twice, "Remove one of the two."),
    Rule("percent-zero", WARN, amounts.percent_zero, "Remove it, or write how much."),
    Rule("memory-zero", WARN, amounts.memory_zero, "Remove it, or write how much."),
    Rule("policy-unknown", ENFORCE, selection.policy_unknown, "Use the words that the message lists."),
    Rule("weights-malformed", ENFORCE, selection.weights_malformed, "Write `slot=N,core=N,memory=N`."),
    Rule("type-list-empty", ENFORCE, selection.type_list_empty, "Name GPU types, or remove the key."),
    Rule("bind-with-filter-policy", WARN, selection.bind_with_filter_policy, "Use `binpack`, `spread` or `numa`."),
    Rule("facts-stale", WARN, _facts_stale, "See the metric `numafit_facts_age_seconds`."),
)

ANY_POD: Final = (
    Rule(
        "forged-reservation",
        ENFORCE,
        safety.forged_on_creation,
        "Remove the keys; manifests copied from a running pod and restored backups carry them.",
        any_pod=True,
    ),
    Rule("no-containers", ENFORCE, safety.no_containers, "Add a container.", any_pod=True),
    Rule("count-zero", WARN, amounts.count_zero, "Ask for 1, or remove the resource.", any_pod=True),
    Rule("near-miss-key", WARN, slips.near_miss_key, "Write the key that the message names.", any_pod=True),
    Rule("near-miss-resource", WARN, slips.near_miss_resource, "Write the name that the message says.", any_pod=True),
    Rule(
        "amount-as-annotation",
        WARN,
        slips.amount_as_annotation,
        "Write it under a container's `resources.limits`.",
        any_pod=True,
    ),
    Rule("not-a-gpu-pod", WARN, _not_a_gpu_pod, "Ask for a GPU, or remove the key.", any_pod=True),
)

ON_UPDATE: Final = (Rule("key-changed-late", WARN, _key_changed_late, "Create the pod anew."),)

ROOM: Final = (
    Rule(
        "pin-unknown",
        None,
        capacity.pin_unknown,
        "Correct the UUIDs; the message offers the nearest.",
        needs_facts=True,
    ),
    Rule("pinned-on-no-one-node", None, capacity.pinned_on_no_one_node, "Pin GPUs of one node.", needs_facts=True),
    Rule(
        "pinned-node-excluded",
        None,
        capacity.pinned_node_excluded,
        "Drop the selector, or pin other GPUs.",
        needs_facts=True,
    ),
    Rule(
        "request-exceeds-every-node",
        None,
        capacity.request_exceeds_every_node,
        "Ask for fewer, or change the node selector.",
        needs_facts=True,
    ),
    Rule(
        "whole-cards-exceed-every-node",
        None,
        capacity.whole_cards_exceed_every_node,
        "Ask for part of the memory and cores, so that containers can share.",
        needs_facts=True,
    ),
    Rule(
        "bind-larger-than-numa",
        None,
        capacity.bind_larger_than_numa,
        "Ask for fewer, or remove the key.",
        needs_facts=True,
    ),
    Rule("pinned-across-numa", None, capacity.pinned_across_numa, "Pin GPUs of one NUMA node.", needs_facts=True),
    Rule(
        "strict-larger-than-numa",
        None,
        capacity.strict_larger_than_numa,
        "Ask for fewer, or use `best-effort`.",
        needs_facts=True,
    ),
    Rule(
        "kubelet-never-admits",
        None,
        kubelet.kubelet_never_admits,
        "Ask for fewer, or choose nodes with another topology policy.",
        needs_facts=True,
    ),
)
"""At most the first of these that holds is reported."""

HOPELESS: Final = frozenset(rule.code for rule in ROOM[:5])
"""Where one of these is reported, of the other rules that need facts only `pin-partly-unknown` is judged."""

PARTLY_UNKNOWN: Final = Rule(
    "pin-partly-unknown",
    WARN,
    capacity.pin_partly_unknown,
    "Correct the UUIDs; the message offers the nearest.",
    needs_facts=True,
)

WITH_FACTS: Final = (
    Rule("pin-not-honoured", WARN, topology.pin_not_honoured, "Add `hami.io/numa-alignment`.", needs_facts=True),
    Rule(
        "alignment-without-topology-manager",
        WARN,
        topology.alignment_without_topology_manager,
        "Remove the key, or have a policy set.",
        needs_facts=True,
    ),
    Rule(
        "alignment-without-numa-hints",
        WARN,
        topology.alignment_without_numa_hints,
        "Have `devicePlugin.enableNumaTopology` set, or remove the key.",
        needs_facts=True,
    ),
    Rule("alignment-uneven-cards", WARN, topology.alignment_uneven_cards, "Ask for memory in MiB.", needs_facts=True),
    Rule(
        "alignment-on-mig-cards",
        None,
        topology.alignment_on_mig_cards,
        "Remove the key, or choose other nodes.",
        needs_facts=True,
    ),
    Rule("memory-exceeds-every-card", None, amounts.memory_exceeds_every_card, "Ask for less.", needs_facts=True),
    Rule(
        "quota-never-fits",
        ENFORCE,
        amounts.quota_never_fits,
        "Ask for less, or have the quota raised.",
        needs_facts=True,
    ),
    Rule("quota-full", ENFORCE, amounts.quota_full, "Wait, or ask for less.", needs_facts=True),
    Rule(
        "type-matches-no-card",
        None,
        selection.type_matches_no_card,
        "Use a type that the message lists.",
        needs_facts=True,
    ),
    Rule(
        "mode-matches-no-card",
        None,
        selection.mode_matches_no_card,
        "Use a mode that the message lists.",
        needs_facts=True,
    ),
    Rule("pinned-unfit", None, selection.pinned_unfit, "Pin other GPUs, or ask for less.", needs_facts=True),
    Rule("taint-not-tolerated", WARN, selection.taint_not_tolerated, "Add a toleration.", needs_facts=True),
)

ON_OWNERS: Final = (
    Rule("annotation-on-owner", WARN, _on_owner, "Move it to `spec.template.metadata.annotations`.", any_pod=True),
)

RULES: Final = (*ANY_POD, *ON_UPDATE, *WITHOUT_FACTS, *ROOM, PARTLY_UNKNOWN, *WITH_FACTS, *ON_OWNERS)
BY_CODE: Final = {rule.code: rule for rule in RULES}

_SUBJECTS: Final = {
    "alignment": keys.NUMA_ALIGNMENT,
    "strict": keys.NUMA_ALIGNMENT,
    "bind": keys.NUMA_BIND,
    "pin": keys.USE_UUID,
    "pinned": keys.USE_UUID,
    "exclusion": keys.NOUSE_UUID,
}


def subject(code: str) -> str:
    """Return the annotation that a rule is about, as its code's first word says; empty if it is about none.

    The rule never holds on a pod without it, so it need not be asked there.
    """
    return _SUBJECTS.get(code.partition("-")[0], "")


FORMAT_RULES: Final = {
    keys.NUMA_ALIGNMENT: SPELLING[:1],
    keys.NUMA_BIND: SPELLING[1:2],
    keys.USE_UUID: tuple(rule for rule in SPELLING if rule.code.startswith("pin-")),
    keys.NOUSE_UUID: tuple(rule for rule in SPELLING if rule.code.startswith("exclusion-")),
}
"""What is judged of a key that changes on an existing pod."""
