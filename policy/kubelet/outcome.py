"""What kubelet answers to a pod."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations
from typing import Final, Literal

from policy.kubelet.masks import in_kubelet_order

TOPOLOGY_AFFINITY: Final = "TopologyAffinityError"
UNEXPECTED: Final = "UnexpectedAdmissionError"
SMT_ALIGNMENT: Final = "SMTAlignmentError"
EMPTY_POD_POOL: Final = "EmptyPodSharedPoolError"


class Verdict(StrEnum):
    """How it ends."""

    ADMIT = "admit"
    REJECT = "reject"
    PANIC = "panic"
    STALL = "stall"
    NO_START = "no-start"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The pod is refused; reason and message as kubelet words them."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Panic:
    """kubelet crashes with this Go panic."""

    text: str


@dataclass(frozen=True, slots=True)
class Stall:
    """kubelet would not answer in time.

    Attributes:
        text: what takes so long.
        steps: how many steps it takes, 0 for without end.
    """

    text: str
    steps: int


End = Refusal | Panic | Stall


def unexpected(error: str) -> Refusal:
    """Return the refusal that wraps a manager's plain error."""
    return Refusal(UNEXPECTED, f"Allocate failed due to {error}, which is unexpected")


@dataclass(frozen=True, slots=True)
class Hints:
    """What a provider can offer for one resource; no mask at all means that the request cannot be satisfied.

    Attributes:
        masks: sets of NUMA nodes that can serve it, in numeric order.
        preferred: those among them that are as narrow as the request allows.
    """

    masks: tuple[int, ...] = ()
    preferred: frozenset[int] = frozenset()

    def listed(self) -> list[tuple[int, bool]]:
        """Return masks with their preferred flags, in the order in which kubelet lists them."""
        return [(mask, mask in self.preferred) for mask in in_kubelet_order(self.masks)]


IMPOSSIBLE: Final = Hints()

Answers = Mapping[str, Hints | None]
"""Resource -> hints, None for no preference; a resource that is absent got no answer, which means the same."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The hint that the topology manager stores.

    Attributes:
        mask: NUMA nodes, None for no affinity.
    """

    mask: int | None
    preferred: bool


NO_AFFINITY: Final = Merged(None, preferred=False)
"""What managers see under the policy none."""


@dataclass(frozen=True, slots=True)
class Call:
    """What GetPreferredAllocation is asked."""

    available: frozenset[str]
    must_include: frozenset[str]
    size: int


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """Which devices of one resource a container may get.

    Attributes:
        size: how many it gets.
        forced: what every result contains.
        allowed: what a result may contain.
        decided_by: who chooses between the two.
        call: what the plugin is asked, None if it is not.
        aligned, unaligned: free devices inside and outside of the stored hint.
        picked: the result of the run at hand.
        cards: device -> physical card.
    """

    size: int
    forced: frozenset[str]
    allowed: frozenset[str]
    decided_by: Literal["forced", "plugin", "arbitrary"]
    call: Call | None = None
    aligned: frozenset[str] = frozenset()
    unaligned: frozenset[str] = frozenset()
    picked: frozenset[str] = frozenset()
    cards: Mapping[str, str] = field(default_factory=dict)

    @property
    def possible_cards(self) -> frozenset[str]:
        """Physical cards of which the container may get a share."""
        return frozenset(map(self._card, self.allowed))

    def _card(self, device: str) -> str:
        """Return the card of a device; one that its plugin no longer reports stands for itself."""
        return self.cards.get(device, device)

    def may_be(self, cards: frozenset[str]) -> bool:
        """Tell whether ``cards``, one device of each, may be the result."""
        fixed = list(map(self._card, self.forced))
        distinct = len(cards) == self.size and len(set(fixed)) == len(fixed)
        return distinct and cards.issuperset(fixed) and self.possible_cards >= cards

    def distinct_sets(self) -> Iterator[frozenset[str]]:
        """Yield every set of different physical cards that may be the result, in the order of their names."""
        fixed = frozenset(map(self._card, self.forced))
        missing = self.size - len(fixed)
        if len(fixed) < len(self.forced) or missing < 0:
            return
        for rest in combinations(sorted(self.possible_cards - fixed), missing):
            yield fixed.union(rest)


@dataclass(frozen=True, slots=True)
class ContainerOutcome:
    """How one container fared.

    Attributes:
        hints: what the providers offered, None where none was asked.
        merged: the hint of this container, None where none was made for it alone.
        cpus: its CPUs if the CPU manager gave it some.
        memory_nodes: NUMA nodes of its memory, 0 if the memory manager gave it none.
    """

    name: str
    hints: Answers | None = None
    merged: Merged | None = None
    cpus: int | None = None
    devices: Mapping[str, DeviceChoice] = field(default_factory=dict)
    memory_nodes: int = 0


@dataclass(frozen=True, slots=True)
class Prediction:
    """What kubelet answers to one pod.

    Attributes:
        verdict: how one run ends; arbitrary choices fall on the lowest ids there.
        reason, message: kubelet's words where the pod is refused, else empty; the message also holds a start error,
            a panic or what stalls.
        containers: as far as the run got.
        hints, merged: those of the pod where the scope is the pod.
        outcomes: every end that arbitrary choices can lead to: reasons of refusals, or a verdict's word.
        complete: whether all of them were walked.
        cards: resource -> physical cards of which a container of the pod may get a share, over all that was walked.
    """

    verdict: Verdict
    qos: str = ""
    reason: str = ""
    message: str = ""
    containers: tuple[ContainerOutcome, ...] = ()
    hints: Answers | None = None
    merged: Merged | None = None
    outcomes: frozenset[str] = frozenset()
    complete: bool = True
    cards: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def admitted(self) -> bool:
        """Whether the pod is let in."""
        return self.verdict is Verdict.ADMIT

    @property
    def depends(self) -> bool:
        """Whether arbitrary choices decide between several ends."""
        return len(self.outcomes) > 1
