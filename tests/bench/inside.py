"""What one decision costs inside the process, without a server."""

import gc
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import jsonpatch

from policy.placement.order import Order
from policy.placement.refit import Moved, RefitRequest, decide
from tests.bench import clusters
from tests.bench.reviews import pod_of, review
from webhook.cluster.file import FileCluster
from webhook.levels.file import LevelsFile
from webhook.levels.reading import load
from webhook.refit import Refit, Rules
from webhook.review import Admission, decode, respond

POD_BYTES = 9500
LARGE_POD_BYTES = 74000
SMALL = clusters.Size(nodes=10, pods=50)
LARGE = clusters.Size(nodes=1000, pods=5000)

Case = Callable[[], object]


@dataclass(frozen=True, slots=True)
class World:
    """What the cases are measured on: clusters as the server holds them, and the policy file."""

    recorded: FileCluster
    small: FileCluster
    large: FileCluster
    levels: LevelsFile

    def admission(self, cluster: FileCluster) -> Admission:
        """The operation behind /webhook on one of the clusters."""
        return Admission(cluster, lambda: self.levels, lambda _code, _level: None)


def world(directory: Path) -> World:
    """Make the clusters and the policy file in ``directory``, and read them as the server does."""
    judging = LevelsFile(load(clusters.write_levels(directory)))

    def read(path: Path) -> FileCluster:
        return FileCluster.load([path], config=judging.operator.hami, declared=judging.declared)

    made = World(
        recorded=read(clusters.RECORDED),
        small=read(clusters.write(directory / "small.json", SMALL)),
        large=read(clusters.write(directory / "large.json", LARGE)),
        levels=judging,
    )
    gc.collect()
    gc.freeze()  # as the server does with what it holds
    return made


def decisions(made: World) -> dict[str, Case]:
    """From a review that is read from JSON to its encoded answer: pod, levels, every rule, patch."""
    pins = {"nvidia.com/use-gpuuuid": ",".join(clusters.cards_of(LARGE.nodes // 2)[: clusters.CARDS_OF_NUMA])}
    third = {"topology.kubernetes.io/zone": "zone-1"}
    last = {"kubernetes.io/hostname": clusters.node_name(LARGE.nodes - 1)}
    plain = review(POD_BYTES)
    return {
        "recorded cluster": _deciding(made.admission(made.recorded), plain),
        "1,000 nodes": _deciding(made.admission(made.large), plain),
        "1,000 nodes, 4 cards pinned": _deciding(made.admission(made.large), review(POD_BYTES, pins)),
        "1,000 nodes, a zone selected": _deciding(made.admission(made.large), review(POD_BYTES, nodeSelector=third)),
        "1,000 nodes, the last selected": _deciding(made.admission(made.large), review(POD_BYTES, nodeSelector=last)),
    }


def _deciding(admission: Admission, body: bytes) -> Case:
    request = decode(body)
    verdict = admission.judge(request)
    assert verdict.allowed, f"the measured pod must be let in: {verdict}"
    assert verdict.filled.operations, f"the measured pod must be filled in: {verdict}"
    return lambda: respond(request.uid, admission.judge(request))


def answers(made: World) -> dict[str, Case]:
    """From the bytes of a review to the bytes of its answer."""
    admission = made.admission(made.recorded)
    small, large = review(POD_BYTES), review(LARGE_POD_BYTES)
    return {
        "9.5 KB": lambda: admission.handle(small, {}),
        "74 KB": lambda: admission.handle(large, {}),
    }


def differences(made: World) -> dict[str, Case]:
    """The patch alone, made by comparing the pod before and after as a generic library does."""
    admission = made.admission(made.recorded)
    return {
        "9.5 KB": _comparing(admission, review(POD_BYTES)),
        "74 KB": _comparing(admission, review(LARGE_POD_BYTES)),
    }


def _comparing(admission: Admission, body: bytes) -> Case:
    before = pod_of(body)
    patch: list[Any] = list(admission.judge(decode(body)).filled.operations)
    after = jsonpatch.apply_patch(before, patch)
    return lambda: jsonpatch.make_patch(before, after)


def refits(made: World) -> dict[str, Case]:
    """Deciding a refit that moves a container, on clusters of two sizes."""
    return {
        "10 nodes": _moving(made, made.small, SMALL),
        "1,000 nodes": _moving(made, made.large, LARGE),
    }


def _moving(made: World, cluster: FileCluster, size: clusters.Size) -> Case:
    facts, hami = cluster.facts(), made.levels.operator.hami
    request = _request(_middle(size), clusters.CARDS_OF_NUMA)
    decision = decide(request, facts, hami, Order.NUMAFIT)
    assert isinstance(decision, Moved), f"the measured refit must move its container: {decision}"
    return lambda: decide(request, facts, hami, Order.NUMAFIT)


def moves(made: World) -> dict[str, Case]:
    """Whole refits: request read, decided, committed, answered, the container going to and fro."""
    return {
        "10 nodes": _committing(made, made.small, SMALL),
        "1,000 nodes": _committing(made, made.large, LARGE),
    }


def _committing(made: World, cluster: FileCluster, size: clusters.Size) -> Case:
    rules = Rules(made.levels.operator.hami, Order.NUMAFIT)
    refit = Refit(cluster, lambda: rules, lambda _token, _request: None, lambda _result, _code: None)
    bodies = cycle(_body(_request(_middle(size), first)) for first in (clusters.CARDS_OF_NUMA, 0))
    return lambda: refit.handle(next(bodies), {})


def _middle(size: clusters.Size) -> int:
    """A node in the middle whose first pod holds the node's first card."""
    return size.nodes // 2 // clusters.CARDS * clusters.CARDS


def _request(node: int, first: int) -> RefitRequest:
    """The first pod on ``node`` is to go to the NUMA node whose cards begin with ``first``."""
    allowed = clusters.cards_of(node)[first : first + clusters.CARDS_OF_NUMA]
    return RefitRequest(f"uid-{node}", clusters.NAMESPACE, f"worker-{node}", clusters.node_name(node), allowed=allowed)


def _body(request: RefitRequest) -> bytes:
    return json.dumps(
        {
            "podUID": request.pod_uid,
            "podNamespace": request.pod_namespace,
            "podName": request.pod_name,
            "nodeName": request.node_name,
            "containerIndex": request.container_index,
            "deviceType": request.device_type,
            "allowedDeviceUUIDs": request.allowed,
        }
    ).encode()
