"""AdmissionReviews as large as real ones, grown from one that an API server sent."""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Object = dict[str, Any]

_RECORDED = Path(__file__).with_name("review.json")
_PADDING = "example.com/change-cause"
_ENV_OF_ONE = 16
"""Environment entries of one container; a larger pod has more containers."""


def review(pod_bytes: int, annotations: Mapping[str, str] | None = None, **spec: Any) -> bytes:
    """The review of a new GPU pod of exactly ``pod_bytes``, with further ``annotations`` and fields of its spec.

    Raises:
        ValueError: a pod cannot be so small.
    """
    whole = json.loads(_RECORDED.read_bytes())
    pod = whole["request"]["object"]
    pod["metadata"] |= {
        "labels": {"app.kubernetes.io/name": "trainer", "app.kubernetes.io/part-of": "vision"},
        "annotations": {**pod["metadata"]["annotations"], **(annotations or {})},
    }
    pod["spec"] |= {**_spec(pod["spec"]), **spec}
    _grow(pod, pod_bytes)
    return _dump(whole)


def pod_of(body: bytes) -> Object:
    """The pod in a review."""
    pod: Object = json.loads(body)["request"]["object"]
    return pod


def _spec(recorded: Object) -> Object:
    """What the recorded pod lacks and real ones have: a service account's token, volumes, probes."""
    return {
        "containers": [{**item, **_furnished()} for item in recorded["containers"]],
        "serviceAccountName": "trainer",
        "volumes": [
            {
                "name": "kube-api-access",
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    ],
                    "defaultMode": 420,
                },
            },
            {"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}},
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
        ],
    }


def _furnished() -> Object:
    probe = {"path": "/healthz", "port": 8081, "scheme": "HTTP"}
    return {
        "ports": [{"name": "metrics", "containerPort": 9400, "protocol": "TCP"}],
        "env": [],
        "volumeMounts": [
            {"name": "data", "mountPath": "/data", "readOnly": True},
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - where frameworks look for it
            {
                "name": "kube-api-access",
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                "readOnly": True,
            },
        ],
        "livenessProbe": {"httpGet": probe, "timeoutSeconds": 1, "periodSeconds": 10, "failureThreshold": 3},
    }


def _grow(pod: Object, size: int) -> None:
    """Add variables, and containers for them, as long as the pod stays within ``size``; then fill up to it."""
    previous = copy.deepcopy(pod)
    while len(_dump(_managed(pod))) + len(_PADDING) + 6 <= size:
        previous = copy.deepcopy(pod)
        _add_variable(pod)
    pod.clear()
    pod.update(_managed(previous))
    room = size - len(_dump(pod)) - len(f',"{_PADDING}":""')
    if room < 0:
        raise ValueError(f"a pod of {size} bytes cannot be made; the smallest has {size - room}")
    pod["metadata"]["annotations"][_PADDING] = "x" * room


def _add_variable(pod: Object) -> None:
    containers = pod["spec"]["containers"]
    if len(containers[-1]["env"]) == _ENV_OF_ONE:
        named = {"name": f"shipper-{len(containers)}", "resources": _small()}
        containers.append({**containers[0], **named, "env": []})
    env = containers[-1]["env"]
    number = len(env)
    if number % 4:
        env.append({"name": f"TRAINER_OPTION_{number}", "value": f"s3://datasets/imagenet/shard-{number:04}"})
    else:
        secret = {"secretKeyRef": {"name": "trainer", "key": f"credential-{number}"}}
        env.append({"name": f"TRAINER_CREDENTIAL_{number}", "valueFrom": secret})


def _small() -> Object:
    amounts = {"cpu": "1", "memory": "256Mi"}
    return {"limits": amounts, "requests": amounts}


def _managed(pod: Object) -> Object:
    """The same with the managed fields that the API server would keep of it."""
    entry = {**pod["metadata"]["managedFields"][0], "fieldsV1": _owned({"spec": pod["spec"]})}
    return {**pod, "metadata": {**pod["metadata"], "managedFields": [entry]}}


def _owned(value: object) -> Object:
    if isinstance(value, dict):
        return {f"f:{key}": _owned(item) for key, item in value.items()}
    if isinstance(value, list) and all(isinstance(item, dict) and "name" in item for item in value):
        return {f"k:{_dump({'name': item['name']}).decode()}": {".": {}, **_owned(item)} for item in value}
    return {}


def _dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
