"""What a pod, its node and its namespace's quota ask of the cards that one container gets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from policy.facts import NOTHING, Device, Entry, Node, Quota, Use
from policy.hami import quota as quotas
from policy.hami.annotations import CardFilter, Weights, gpu_policy, numa_bind, weights
from policy.hami.golang import parts
from policy.hami.usage import effective, steady
from policy.keys import SCORING_WEIGHTS
from policy.pod import Phase


@dataclass(frozen=True, slots=True)
class Layout:
    """A pod's devices by container, and what they come to.

    Attributes:
        entries: one per container, or as decoded from an annotation value.
        phases: of the pod's containers.
        init_released: whether its init containers have ended and no longer count.
    """

    entries: tuple[Entry, ...]
    phases: Sequence[Phase]
    init_released: bool = False

    def with_entry(self, position: int, entry: Entry) -> "Layout":
        """The same with one container's devices replaced."""
        entries = (*self.entries[:position], entry, *self.entries[position + 1 :])
        return Layout(entries, self.phases, self.init_released)

    def use(self) -> Mapping[str, Use]:
        """Return card UUID -> what counts there for the pod as a whole (docs/decisions.md 8)."""
        collapse = steady if self.init_released else effective
        return collapse(self.entries, self.phases)


@dataclass(frozen=True, slots=True)
class Budget:
    """A namespace's quota, and the pod whose container is to get cards.

    HAMi loses the positions of a pod's other containers here, and so counts an init container's devices beside
    those of the app container that reuses them; numafit keeps each in its place (docs/decisions.md 8).

    Attributes:
        used: what the namespace's other pods hold.
        memory_factor: what one unit of the memory limit stands for, in MiB.
        layout: the pod's devices so far.
        position: the container that is to get cards.
    """

    quota: Quota | None
    used: Use
    memory_factor: int
    layout: Layout
    position: int

    def at(self, position: int, entries: Iterable[Entry]) -> "Budget":
        """The same for the container at ``position``, where the pod's containers have ``entries`` so far."""
        return replace(self, layout=replace(self.layout, entries=tuple(entries)), position=position)

    def allows(self, devices: Entry) -> bool:
        """Tell whether the quota holds with ``devices`` given to the container."""
        return self.quota is None or quotas.fits(self.quota, self.used, self._need(devices), self.memory_factor)

    def price(self, device: Device) -> Use:
        """Return what the pod holds more with ``device`` given to the container than with nothing given to it."""
        return self._need((device,)) - self._need(())

    def _need(self, devices: Entry) -> Use:
        return sum(self.layout.with_entry(self.position, devices).use().values(), NOTHING)


@dataclass(frozen=True, slots=True)
class Rules:
    """What is asked of the cards.

    Attributes:
        filter: what the pod's annotations leave.
        policy: word or comma list; `mutex` and `topology_aware` say whether those words are among it.
        numa_bind: whether all cards of a container must share a NUMA node.
        cordoned: UUIDs that take no new reservation.
        pair_scores: UUID -> UUID -> link score.
        offered: the only cards there are to choose from, None for all of the node.
        budget: None where no quota is asked.
    """

    filter: CardFilter
    policy: str
    weights: Weights
    numa_bind: bool = False
    mutex: bool = False
    topology_aware: bool = False
    cordoned: frozenset[str] = frozenset()
    pair_scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    offered: frozenset[str] | None = None
    budget: Budget | None = None

    @classmethod
    def of(cls, annotations: Mapping[str, str], default_policy: str) -> "Rules":
        """Read what a pod's annotations ask.

        Raises:
            AnnotationError: the scoring weights cannot be read.
        """
        policy = gpu_policy(annotations, default_policy)
        words = parts(policy)
        return cls(
            filter=CardFilter.of(annotations),
            policy=policy,
            weights=weights(annotations.get(SCORING_WEIGHTS)),
            numa_bind=numa_bind(annotations),
            mutex="mutex" in words,
            topology_aware="topology-aware" in words,
        )

    def on(self, node: Node, offered: frozenset[str] | None = None) -> "Rules":
        """The same on ``node``, where only the cards ``offered`` are there to choose from, None for all."""
        return replace(self, cordoned=node.cordoned, pair_scores=node.pair_scores, offered=offered)

    def within(self, budget: Budget) -> "Rules":
        """The same under a quota."""
        return replace(self, budget=budget)

    def offers(self, uuid: str) -> bool:
        """Tell whether the card ``uuid`` is there to choose from."""
        return self.offered is None or uuid in self.offered

    def affords(self, devices: Entry) -> bool:
        """Tell whether the quota holds with ``devices`` given to the container."""
        return self.budget is None or self.budget.allows(devices)
