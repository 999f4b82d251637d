"""Pods as people write them, and what they ask for."""

from dataclasses import replace
from typing import Any

from policy.capacity.asked import member_of
from policy.capacity.shapes import Locality
from policy.capacity.view import Asking
from policy.hami.request import HamiConfig
from policy.pod import Pod, read_pod
from tests.policy.placement.build import card

CONFIG = HamiConfig()
HALF = 20000


def pod_of(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **meta: Any) -> Pod:
    """A pod of containers by their limits."""
    spec = {
        "containers": [{"name": f"c{n}", "resources": {"limits": limits}} for n, limits in enumerate(containers)],
        "initContainers": [{"name": f"i{n}", "resources": {"limits": limits}} for n, limits in enumerate(init)],
    }
    return read_pod({"metadata": {"name": "p", "namespace": "team", **meta}, "spec": spec})


def gpu(nums: int, **amounts: Any) -> dict[str, Any]:
    return {"nvidia.com/gpu": nums, **{f"nvidia.com/{key}": value for key, value in amounts.items()}}


def asking(gpus: int = 1, locality: Locality = Locality.GPU, **meta: Any) -> Asking:
    pod = pod_of(gpu(gpus), **meta)
    return Asking(replace(member_of(pod, CONFIG), locality=locality), pod)


PAIR = (card("a"), card("b"))
