"""The policy file as the rest of numafit asks it: a pure value."""

from collections import ChainMap
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from typing import Final, TypeVar

from policy.admission.case import Operator
from policy.admission.finding import Level
from policy.admission.levels import Levels, resolve
from policy.admission.table import BY_CODE
from policy.hami.errors import shown
from policy.placement.order import Order
from webhook.cluster.interface import Declared
from webhook.levels.document import FORGED, Document, Exemption
from webhook.levels.values import seconds, until

_REMEMBERED: Final = 1024
"""Combinations of entries and exemptions whose levels are kept; a cluster has a handful."""

_MILDNESS: Final = tuple(Level)
_Said = TypeVar("_Said")


class LevelsFile:
    """A policy file in force. Nothing in it changes; what it answers depends on the arguments alone.

    Attributes:
        document: the file as written, defaults filled in.
        operator: what it and the server's settings say to the rules.
        facts_max_age: seconds after which facts are too old to judge by.
        order: whose order decides between equal cards.
        declared: what it says of kubelets, in the order in which the cluster asks: the first that knows counts.
    """

    def __init__(self, document: Document, authority: str = "self") -> None:
        """Prepare ``document``; ``authority`` is the setting that says who owns reservations."""
        self.document = document
        self.operator = Operator(
            hami=document.hami.config,
            static_cluster=document.static_cluster,
            refit_enabled=document.refit_enabled,
            authority=authority,
            writers=frozenset(document.writers),
        )
        self.facts_max_age = seconds(document.facts_max_age)
        self.order = Order(document.order)
        self.declared = tuple(Declared(node.selector.match_labels, node.kubelet) for node in reversed(document.nodes))
        self._ends = tuple(until(exemption.expires) for exemption in document.exemptions)
        self._combined = lru_cache(_REMEMBERED)(self._combine)

    def levels(self, namespace: str, labels: Mapping[str, str], pod_labels: Mapping[str, str], now: float) -> Levels:
        """The levels in force for a pod.

        Args:
            namespace: the pod's namespace.
            labels: that namespace's labels, empty if they are not known.
            pod_labels: the pod's own.
            now: seconds since the epoch; an exemption counts before its end.
        """
        document = self.document
        entries = [at for at, entry in enumerate(document.namespaces) if entry.means(namespace, labels)]
        exemptions = [
            at
            for at, exemption in enumerate(document.exemptions)
            if now < self._ends[at] and exemption.means(namespace, pod_labels)
        ]
        return self._combined(tuple(entries), tuple(exemptions))

    def expired(self, now: float) -> tuple[str, ...]:
        """Say of each exemption that no longer counts at ``now`` whose it is and since when, one line each."""
        return tuple(
            f"exemptions[{at}] of {shown(exemption.owner)} ({', '.join(exemption.codes)}) expired {exemption.expires} "
            "and no longer counts; renew or remove it"
            for at, exemption in enumerate(self.document.exemptions)
            if self._ends[at] <= now
        )

    def _combine(self, entries: tuple[int, ...], exemptions: tuple[int, ...]) -> Levels:
        said = [self.document.namespaces[at] for at in entries]
        opted_out = _last(False, (entry.opt_out for entry in said))
        alignment = _last("none", (entry.default_alignment for entry in said))
        overrides = dict(ChainMap(*(entry.levels for entry in reversed(said)), self.document.levels))
        if opted_out:
            overrides |= dict.fromkeys(BY_CODE.keys() - {FORGED}, Level.OFF)
        finish = partial(
            resolve,
            static_cluster=self.document.static_cluster,
            default_alignment="" if opted_out or alignment == "none" else alignment,
            opted_out=opted_out,
        )
        before = finish(overrides)
        exempt = [self.document.exemptions[at] for at in exemptions]
        return finish(_lowered(before.by_code, exempt)) if exempt else before


def _lowered(by_code: Mapping[str, Level], exemptions: Iterable[Exemption]) -> dict[str, Level]:
    lowered = dict(by_code)
    for exemption in exemptions:
        for code in exemption.codes:
            lowered[code] = max(lowered[code], exemption.level, key=_MILDNESS.index)
    return lowered


def _last(start: _Said, said: Iterable[_Said | None]) -> _Said:
    """The last of ``said`` that says something, else ``start``."""
    for each in said:
        start = start if each is None else each
    return start
