"""Random pods: quality of service, whole and fractional CPUs, devices, init containers and sidecars."""

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.kubelet_judge.machines import GPU, often


def pod(random: Random, resources: Sequence[str]) -> dict[str, Any]:
    """Draw a pod that asks for some of the device ``resources``."""
    guaranteed = often(random, 0.75)
    names = iter("abcdefgh")
    drawn: dict[str, Any] = {}
    if often(random, 0.35):
        drawn["initContainers"] = [_init(random, next(names), resources, guaranteed) for _ in range(_few(random))]
    drawn["containers"] = [_container(random, next(names), resources, guaranteed) for _ in range(_few(random))]
    return drawn


def _few(random: Random) -> int:
    return random.choice([1, 1, 2])


def _init(random: Random, name: str, resources: Sequence[str], guaranteed: bool) -> dict[str, Any]:
    container = _container(random, name, resources, guaranteed)
    if often(random, 0.3):
        container["restartPolicy"] = "Always"
    return container


def _container(random: Random, name: str, resources: Sequence[str], guaranteed: bool) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    if guaranteed or often(random, 0.5):
        limits["cpu"] = random.choice([1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 8, 12, "500m", "2000m", "1500m"])
    if guaranteed or often(random, 0.5):
        limits["memory"] = random.choice([4, 8, 12, 16, 20, 30])
    for resource in resources:
        if often(random, 0.7):
            limits[resource] = random.choice([1, 1, 1, 2, 2, 3, 4])
    container: dict[str, Any] = {"name": name, "limits": limits}
    if not guaranteed and "memory" in limits and often(random, 0.5):
        container["requests"] = {"memory": limits["memory"] // 2}
    return container


def reusing(random: Random) -> dict[str, Any]:
    """Draw a pod whose init containers leave behind what its later containers ask for."""
    names = iter("abcdef")
    return {
        kind: [_small(random, next(names), kind) for _ in range(_few(random))]
        for kind in ("initContainers", "containers")
    }


def _small(random: Random, name: str, kind: str) -> dict[str, Any]:
    limits = {"cpu": random.choice([1, 1, 2]), "memory": random.choice([4, 8, 12, 16, 20])}
    if often(random, 0.4):
        limits[GPU] = 1
    container: dict[str, Any] = {"name": name, "limits": limits}
    if kind == "initContainers" and often(random, 0.2):
        container["restartPolicy"] = "Always"
    return container
