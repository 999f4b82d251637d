"""A cluster in files with the real operations before it, and everything that is checked at each step."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from policy import keys
from policy.facts import NOTHING, Device, Facts, Use
from policy.hami.codec import consume_first
from policy.hami.request import HamiConfig
from policy.placement.order import Order
from tests.properties.contract import check_moved, check_only, check_placed, due, places
from tests.properties.ledger import Books, Object, Photo, PodPage, beyond, photograph, read_entries
from tests.properties.shapes import Wanted
from webhook.cluster.documents import Content
from webhook.cluster.file import FileCluster
from webhook.cluster.interface import RejectedObjectError
from webhook.extender import Bind, Filter
from webhook.refit import Refit, Rules

_PLACED = {
    *(f"metadata annotations {key}" for key in (keys.TO_ALLOCATE, keys.ALLOCATED, keys.ASSIGNED_NODE)),
    f"metadata annotations {keys.ASSIGNED_TIME}",
    f"metadata labels {keys.ASSIGNED_NODE}",
}
_BOUND = {f"metadata annotations {keys.BIND_PHASE}", f"metadata annotations {keys.BIND_TIME}", "spec nodeName"}


class SlowCluster(FileCluster):
    """A cluster in files whose next reader gets facts of an earlier moment, as a thread that was slow would hold."""

    late: Facts | None = None

    def facts(self) -> Facts:
        found, self.late = self.late or super().facts(), None
        return found


class World:
    """The cluster and its operations. Each operation is checked by itself; `audit` checks what always holds."""

    def __init__(self, objects: Iterable[Object], counts: Counter[str], order: Order) -> None:
        self.counts = counts
        self.order = order
        self._past = Facts()
        self._is_held = False
        self.wanted: dict[str, Sequence[Wanted]] = {}
        self._answers: dict[tuple[str, int], tuple[Device, ...]] = {}
        self._tolerated: Mapping[object, Use] = {}
        self.open(objects)

    def open(self, objects: Iterable[Object]) -> None:
        """Start from plain objects, as after a restart."""
        self.cluster = SlowCluster(Content(tuple(objects)))
        rules = Rules(HamiConfig(), self.order)
        self._refit = Refit(self.cluster, lambda: rules, lambda _token, _request: None, lambda _result, _code: None)
        self._filter = Filter(self.cluster, lambda: rules, take_in=self._take_in)
        self._bind = Bind(self.cluster, lambda: rules)
        self._others_are_done()

    def _take_in(self, source: Mapping[str, Any]) -> None:
        with suppress(RejectedObjectError):
            self.cluster.create(dict(source))

    def hold_facts(self) -> None:
        """Keep the facts of now for the next who is late; else those are from before the step."""
        self._past, self._is_held = self.cluster.facts(), True

    def photo(self) -> Photo:
        """Every object as it is now."""
        return photograph(self.cluster.objects())

    def books(self) -> Books:
        """Who holds what now."""
        return Books(self.photo())

    def source(self, pod: PodPage) -> Object:
        """A copy of a pod's plain object."""
        found: Object = msgspec.json.decode(self.photo()["Pod", pod.namespace, pod.name])
        return found

    def others_write(self, source: Object, *, anew: bool = False) -> None:
        """Let somebody else create or replace an object; they may give away more than there is."""
        made = (self.cluster.create if anew else self.cluster.update)(source)
        filled_in = {name: made["metadata"][name] for name in ("uid", "resourceVersion")}
        assert made == {**source, "metadata": {**source["metadata"], **filled_in}}
        self._others_are_done()

    def others_put(self, source: Object) -> None:
        """Let somebody else create an object or put it in the place of the one of its name."""
        metadata = source["metadata"]
        known = (source["kind"], metadata.get("namespace", ""), metadata["name"]) in self.photo()
        self.others_write(source, anew=not known)

    def others_take_away(self, kind: str, namespace: str, name: str) -> None:
        """Let somebody else delete an object, if it is there."""
        found = self.photo().get((kind, namespace, name))
        if found is not None:
            self.others_delete(msgspec.json.decode(found)["metadata"]["uid"])

    def others_delete(self, uid: str) -> None:
        """Let somebody else delete an object."""
        self.cluster.delete(uid)
        self._others_are_done()

    def _others_are_done(self) -> None:
        """What others gave away too much they may have, and an answer that they overwrote is void."""
        books = self.books()
        self._tolerated = books.excess()
        held = {(pod.uid, at): entry for pod in books.pods.values() for at, entry in enumerate(pod.entries)}
        self._answers = {key: devices for key, devices in self._answers.items() if held.get(key) == devices}

    def place(self, source: Object, nodes: Sequence[str], *, late: bool) -> None:
        """Ask the filter for a node, and check what it did; a pod that it does not know it takes in."""
        before = self.photo()
        body = msgspec.json.encode({"pod": source, "nodenames": nodes})
        answer = self._asked(self._filter.handle, body, late=late)
        after, reply = self.photo(), msgspec.json.decode(answer.body)
        self.counts[f"filter: {answer.verdict}"] += 1
        meta = source["metadata"]
        key = "Pod", meta["namespace"], meta["name"]
        before = {key: after[key], **before}
        pod = Books(after).pods.get(meta["uid"])
        if answer.verdict == "placed":
            assert pod is not None
            assert reply["nodenames"] == [pod.node]
            assert pod.node in nodes
            check_placed(Books(after), pod, self.wanted[pod.uid])
            self._answers |= {(pod.uid, at): entry for at, entry in enumerate(pod.entries)}
            # A pod that was not known before is taken in and placed in one call.
            check_only(before, after, pod, _PLACED)
            return
        assert before == after
        if answer.verdict == "nowhere" and not late:
            assert pod is not None
            assert not any(places(Books(before), pod, self.wanted[pod.uid], name) for name in nodes)

    def bind(self, pod: PodPage, node: str, *, late: bool) -> None:
        """Ask for a binding, and check that nothing else was done."""
        before = self.photo()
        asked = {"podName": pod.name, "podNamespace": pod.namespace, "podUID": pod.uid, "node": node}
        answer = self._asked(self._bind.handle, msgspec.json.encode(asked), late=late)
        self.counts[f"bind: {answer.verdict}"] += 1
        check_only(before, self.photo(), pod, _BOUND if answer.verdict == "bound" else set())
        assert late or answer.verdict == "error" or self.source(pod)["spec"]["nodeName"] == node == pod.node

    def serve(self, pod: PodPage) -> None:
        """Let the device plugin hand over the next container's cards."""
        source = self.source(pod)
        annotations = source["metadata"]["annotations"]
        annotations[keys.TO_ALLOCATE] = consume_first(annotations[keys.TO_ALLOCATE])
        self.others_write(source)

    def refit(self, request: Mapping[str, Any], *, late: bool) -> None:
        """Ask for a refit, check the answer, and ask again at once."""
        before = self.photo()
        expected = due(Books(before), request)
        verdict, devices = self._ask_refit(request, late=late)
        self.counts[f"refit: {verdict}"] += 1
        if verdict == "refused":
            self.counts[devices.partition(":")[0]] += 1
        after = self.photo()
        assert late or verdict == expected.verdict, (verdict, devices, expected)
        if verdict == "moved":
            check_moved(before, after, request, devices, None if late else expected.onto)
        else:
            assert before == after
        if verdict == "moved" or (verdict == "kept" and not late):
            self._answers[request["podUID"], request["containerIndex"]] = read_entries(devices)[0]
            assert self._ask_refit(request, late=False) == ("kept", devices)
            assert self.photo() == after

    def _ask_refit(self, request: Mapping[str, Any], *, late: bool) -> tuple[str, str]:
        answer = self._asked(self._refit.handle, msgspec.json.encode(request), late=late)
        reply = msgspec.json.decode(answer.body)
        assert answer.status == 200
        assert reply["succeeded"] == (answer.verdict in {"moved", "kept"})
        return answer.verdict, reply.get("containerDevices", reply.get("failureReason"))

    def _asked(self, handle: Callable[..., Any], body: bytes, *, late: bool) -> Any:
        self.cluster.late, self._is_held = (self._past, False) if late else (None, self._is_held)
        answer = handle(body, {})
        self.cluster.late = None
        return answer

    def audit(self) -> None:
        """Check what must hold after every step."""
        books, facts = self.books(), self.cluster.facts()
        self._check_views(books, facts)
        self._check_amounts(books, facts)
        again = FileCluster(Content(self.cluster.objects())).facts()
        assert _comparable(facts) == _comparable(again), "facts differ from those after a restart"
        if not self._is_held:
            self._past = facts

    def _check_views(self, books: Books, facts: Facts) -> None:
        """Annotations, accounting and the last answer say the same of every pod."""
        for pod in books.pods.values():
            held = facts.reservation(pod.uid)
            assert (held.node if held else "") == pod.node
            assert (held.devices if held else {}) == pod.held
        for (uid, position), devices in self._answers.items():
            assert books.pods[uid].entries[position] == devices

    def _check_amounts(self, books: Books, facts: Facts) -> None:
        """Cards and quotas are charged with the sums over pods, and numafit gave away no more than there is."""
        used = {(name, uuid): use for name, state in facts.nodes.items() for uuid, use in state.use.items()}
        assert used == books.on_cards
        charged = {namespace: use for namespace, use in facts.quota_use.items() if use != NOTHING}
        assert charged == books.in_namespaces
        excess = books.excess()
        for place, amount in excess.items():
            assert beyond(amount, self._tolerated.get(place)) == NOTHING, (place, amount)
        self._tolerated = excess


def _comparable(facts: Facts) -> object:
    """Facts without what a node leaves behind that nobody names any more."""
    nodes = {name: state for name, state in facts.nodes.items() if state.node or state.reservations}
    quota_use = {namespace: use for namespace, use in facts.quota_use.items() if use != NOTHING}
    return nodes, facts.pod_nodes, facts.inventory, facts.quotas, quota_use, facts.namespaces
