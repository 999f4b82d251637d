"""The fields of a pod that are read, for decoders that can skip the rest: `policy.pod` and the defaults read no other.

Most of a pod's bytes are managed fields, volumes and probes.
"""

from typing import Any, TypedDict


class MetadataShape(TypedDict, total=False):
    """What is read of a pod's metadata."""

    name: Any
    generateName: Any
    namespace: Any
    uid: Any
    resourceVersion: Any
    annotations: Any
    labels: Any
    ownerReferences: Any
    deletionTimestamp: Any


class ContainerShape(TypedDict, total=False):
    """What is read of a container."""

    name: Any
    env: Any
    resources: Any
    restartPolicy: Any
    securityContext: Any


class SpecShape(TypedDict, total=False):
    """What is read of a pod's spec."""

    initContainers: list[ContainerShape] | None
    containers: list[ContainerShape] | None
    affinity: Any
    nodeName: Any
    nodeSelector: Any
    resources: Any
    runtimeClassName: Any
    schedulerName: Any
    schedulingGroup: Any
    tolerations: Any
    workloadRef: Any


class PodShape(TypedDict, total=False):
    """What is read of a pod. An object of another shape is no pod: `read_pod` says what is wrong with it."""

    metadata: MetadataShape | None
    spec: SpecShape | None
    status: Any
