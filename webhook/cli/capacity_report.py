"""What `numafit capacity` answers, as people and programs read it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from policy.capacity.count import NodeCount, PlaceCount
from policy.capacity.ladder import Ask
from policy.capacity.shapes import Locality
from webhook.cli import screen, words
from webhook.cli.counted import Counted
from webhook.cli.room import Known, numa_ids


def as_json(counted: Counted, known: Known) -> Mapping[str, Any]:
    """The answer for programs."""
    capacity, member = counted.capacity, counted.asked.member
    return {
        "title": counted.asked.title,
        "member": words.member_json(member),
        "needed": member.count,
        "fits": counted.fits,
        "members": words.bounded(capacity.members),
        "freeCards": capacity.free_gpus,
        "runnableCards": words.bounded(capacity.runnable_gpus),
        "groupRunnableCards": words.bounded(capacity.group_runnable_gpus(member.count)),
        "quotaMembers": counted.limits.quota,
        "bindings": words.bindings_json(counted.bindings),
        "ladder": [{"locality": str(rung), "members": words.bounded(fit)} for rung, fit in counted.ladder.items()],
        "without": [
            {"request": words.ASKS[ask], "members": words.bounded(fit)} for ask, fit in counted.without.items()
        ],
        "smaller": [{"request": words.ASKS[a], "amount": words.much(a, v)} for a, v in counted.smaller.items()],
        "additions": words.additions_json(counted.additions),
        "search": words.search_json(counted.search),
        "closed": [{"why": str(why), "nodes": list(names)} for why, names in counted.closed.items()],
        "unknown": words.unknown_json(counted.unknown),
        "nodes": [_node(node, counted, known) for node in capacity.nodes],
    }


def _node(node: NodeCount, counted: Counted, known: Known) -> Mapping[str, Any]:
    return {
        "names": list(node.names),
        "members": words.bounded(node.members),
        "lost": {str(cause): shares for cause, shares in node.lost.items()},
        "places": [{"numa": numa, **_place(place)} for numa, place in _placed(node, counted, known)],
    }


def _place(place: PlaceCount) -> Mapping[str, Any]:
    return {
        "freeCards": place.idle,
        "members": words.bounded(place.members),
        "byCards": words.bounded(place.by_gpu),
        "byCPU": words.bounded(place.by_cpu),
        "byMemory": words.bounded(place.by_memory),
        "binding": sorted(place.binding),
    }


def _placed(node: NodeCount, counted: Counted, known: Known) -> Iterator[tuple[int | None, PlaceCount]]:
    """Yield the node's counts with their NUMA nodes, None for the whole node."""
    if counted.asked.member.place is Locality.NODE:
        yield from ((None, place) for place in node.places)
        return
    found = known.facts.inventory.nodes[node.names[0]]
    ids = numa_ids(found, known.local.get(found.name, {}))
    yield from zip(ids, node.places, strict=True)


def write_text(counted: Counted, known: Known) -> None:
    """Write the answer for people."""
    capacity, member = counted.capacity, counted.asked.member
    screen.put(f"{counted.asked.title}: {words.asked_for(member)}")
    verdict = "fits" if counted.fits else "does not fit"
    fit = words.many(capacity.members)
    screen.put(
        f"{member.count} {'is' if member.count == 1 else 'are'} needed, {fit} can run: {verdict}. "
        f"{capacity.free_gpus} cards are free, {words.many(capacity.runnable_gpus)} runnable."
    )
    rows = [("bound by", words.bound_by(counted.bindings))] if counted.bindings else []
    rows += [(f"closed ({why})", words.listed(names)) for why, names in counted.closed.items()]
    screen.table((), [*rows, *words.unknown_rows(counted.unknown)] or [("bound by", "nothing that is known")])
    screen.put("")
    screen.table(("IF", "CAN RUN"), _ladder(counted))
    if not counted.fits:
        screen.put("")
        screen.table(("WOULD HELP", ""), _help(counted))
    _write_nodes(counted, known)


def _write_nodes(counted: Counted, known: Known) -> None:
    """Write the nodes that have something for the member, by NUMA node, and how many have nothing."""
    counted_nodes = shown = counted.capacity.nodes
    if counted.asked.member.gpus:
        shown = tuple(node for node in counted_nodes if any(place.shares for place in node.places))
    screen.put("")
    heads = ("NODES", "NUMA", "FREE", "BY CARDS", "BY CPU", "BY MEMORY", "CAN RUN", "BOUND BY")
    if shown:
        screen.table(heads, _rows(shown, counted, known))
    others = sum(len(node.names) for node in counted_nodes) - sum(len(node.names) for node in shown)
    if others:
        screen.put(f"{others} {'node has' if others == 1 else 'nodes have'} no free card for it.")


def _ladder(counted: Counted) -> Iterator[tuple[str, str]]:
    for rung, fit in counted.ladder.items():
        yield ("as asked: " if rung is counted.asked.member.locality else "") + str(rung), words.many(fit)
    names = {Ask.CPU: "no CPUs asked", Ask.MEMORY: "no memory asked", Ask.GPU: "no cards asked"}
    for ask, fit in counted.without.items():
        yield names[ask], words.many(fit)


def _help(counted: Counted) -> Iterator[tuple[str, str]]:
    for ask, value in counted.smaller.items():
        yield "asking for", f"{words.amount(ask, value)} instead"
    for addition in counted.additions:
        yield "waiting for", words.added(addition)
    if counted.search is not None:
        yield "moving", words.moved(counted.search)


def _rows(nodes: Sequence[NodeCount], counted: Counted, known: Known) -> Iterator[tuple[str, ...]]:
    for node in nodes:
        for position, (numa, place) in enumerate(_placed(node, counted, known)):
            yield (
                "" if position else words.listed(node.names),
                "all" if numa is None else "?" if numa < 0 else str(numa),
                str(place.idle),
                words.many(place.by_gpu),
                words.many(place.by_cpu),
                words.many(place.by_memory),
                words.many(min(place.members, node.members)),
                ", ".join(sorted(place.binding)),
            )
