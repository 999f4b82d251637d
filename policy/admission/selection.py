"""Rules about how a pod lets cards and nodes be chosen: policies, weights, types, modes, taints."""

from collections.abc import Callable
from typing import Final

from policy import keys
from policy.admission.capacity import every_reachable
from policy.admission.case import Case, GpuContainer
from policy.admission.room import Spot
from policy.admission.spelling import quoted
from policy.facts import Card
from policy.hami.annotations import (
    CARD_POLICY_WORDS,
    AnnotationError,
    CardFilter,
    gpu_policy,
    is_valid_policy,
    items,
    weights,
)
from policy.hami.golang import trim
from policy.scheduling import untolerated_taint

NODE_POLICY_WORDS: Final = ("binpack", "spread")


def policy_unknown(case: Case) -> str | None:
    """A GPU or node policy holds a word that HAMi does not know; HAMi would fall back to its default."""
    annotations = case.pod.annotations
    card = annotations.get(keys.GPU_POLICY)
    if card is not None and not is_valid_policy(card):
        return f"{keys.GPU_POLICY} is {quoted(card)}; use a comma list of {', '.join(CARD_POLICY_WORDS)}."
    node = annotations.get(keys.NODE_POLICY)
    if node is not None and trim(node) not in NODE_POLICY_WORDS:
        return f"{keys.NODE_POLICY} is {quoted(node)}; use {' or '.join(NODE_POLICY_WORDS)}."
    return None


def weights_malformed(case: Case) -> str | None:
    """`hami.io/device-scoring-weights` is not three different whole numbers, or all of them are 0."""
    text = case.pod.annotations.get(keys.SCORING_WEIGHTS)
    if text is None:
        return None
    try:
        weights(text)
    except AnnotationError:
        example = "slot=1,core=1,memory=1"
        return f"{keys.SCORING_WEIGHTS} is {quoted(text)}; write three whole numbers, not all 0, as in {example}."
    return None


def type_list_empty(case: Case) -> str | None:
    """`nvidia.com/use-gputype` holds separators and no type, which HAMi matches with no card."""
    text = case.pod.annotations.get(keys.USE_TYPE)
    if text is None or not trim(text) or items(text):
        return None
    return f"{keys.USE_TYPE} is {quoted(text)}, a list without a type; name GPU types or remove the key."


def _no_candidate(case: Case, allowed: Callable[[Card], bool]) -> bool:
    """Tell whether no candidate card of any reachable node is ``allowed``."""
    return every_reachable(case, lambda spot: not any(allowed(card) for card in spot.candidates))


def type_matches_no_card(case: Case) -> str | None:
    """No card that the pod can reach passes its type lists."""
    annotations = case.pod.annotations
    key = next((key for key in (keys.USE_TYPE, keys.NOUSE_TYPE) if trim(annotations.get(key, ""))), None)
    if key is None or type_list_empty(case):
        return None
    wanted = CardFilter.of(annotations)
    if not _no_candidate(case, lambda card: wanted.allows_type(card.type)):
        return None
    seen = sorted({card.type for spot in case.room.reachable for card in spot.candidates})
    return f"{key} {quoted(annotations[key])} leaves no GPU; the nodes for this pod have {', '.join(seen)}."


def mode_matches_no_card(case: Case) -> str | None:
    """No card that the pod can reach runs in the mode of `nvidia.com/vgpu-mode`."""
    text = case.pod.annotations.get(keys.VGPU_MODE)
    if text is None:
        return None
    wanted = CardFilter.of(case.pod.annotations)
    if not _no_candidate(case, lambda card: wanted.allows_mode(card.mode)):
        return None
    seen = sorted({card.mode for spot in case.room.reachable for card in spot.candidates})
    return f"{keys.VGPU_MODE} {quoted(text)} leaves no GPU; the nodes for this pod run {', '.join(seen)}."


def pinned_unfit(case: Case) -> str | None:
    """On no eligible node enough of the pinned GPUs have the type, mode, memory and cores that a container asks for."""
    room = case.room
    if not case.pins or not room.eligible or room.has_unread_nodes:
        return None
    wanted = CardFilter.of(case.pod.annotations)
    short = [gpu for spot in room.eligible if (gpu := _unserved(case, wanted, spot))]
    if len(short) < len(room.eligible):
        return None
    name = quoted(short[0].container.name)
    return f"too few pinned GPUs have the type, mode, memory and cores that container {name} asks for; pin others."


def _unserved(case: Case, wanted: CardFilter, spot: Spot) -> GpuContainer | None:
    """The first container for which too few candidates of ``spot`` are good enough."""
    return next((gpu for gpu in case.gpus if sum(_is_fit(gpu, wanted, c) for c in spot.candidates) < gpu.need), None)


def _is_fit(gpu: GpuContainer, wanted: CardFilter, card: Card) -> bool:
    return (
        wanted.allows_type(card.type)
        and wanted.allows_mode(card.mode)
        and card.memory >= gpu.memory
        and card.cores >= gpu.cores
    )


def bind_with_filter_policy(case: Case) -> str | None:
    """`nvidia.com/numa-bind` with `mutex` or `topology-aware` where HAMi's scheduler places.

    Its walk may miss sets that fit.
    """
    if case.operator.authority != "hami" or not case.binds or case.most <= 1:
        return None
    chain = gpu_policy(case.pod.annotations, case.operator.hami.default_gpu_policy)
    found = next((word for word in items(chain) if word in {"mutex", "topology-aware"}), None)
    if found is None:
        return None
    return f"{keys.NUMA_BIND} with {found}: HAMi may find no GPUs; use binpack, spread or numa."


def taint_not_tolerated(case: Case) -> str | None:
    """Every node that the pod can reach has a taint that it does not tolerate."""
    if not every_reachable(case, lambda spot: untolerated_taint(case.pod, spot.node) is not None):
        return None
    taints = (untolerated_taint(case.pod, spot.node) or {} for spot in case.room.reachable)
    shown = min(f"{taint.get('key')}={taint.get('value') or ''}:{taint.get('effect')}" for taint in taints)
    return f"the pod tolerates the taints of no GPU node, such as {shown}; add a toleration."
