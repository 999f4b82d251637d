"""Pods, clusters and settings of every shape, for the properties of admission."""

from typing import Any

from hypothesis import strategies as st

from policy import keys
from policy.admission.case import Operator
from policy.admission.finding import Level
from policy.admission.levels import resolve
from policy.admission.table import BY_CODE
from policy.facts import Card, Kubelet, Node, Quota, Use
from policy.hami.request import HamiConfig
from tests.policy.admission.build import CORES, COUNT, MEMORY, PERCENT, cluster, uuid

UUIDS = st.integers(0, 12).map(uuid)
WORDS = st.text(st.characters(codec="utf-8"), max_size=8)
LISTS = st.one_of(
    st.lists(UUIDS, min_size=1, max_size=4).map(",".join),
    st.sampled_from(["", " ", ", ,", "0", "0,0", "MIG-1", f"{uuid(1)}::0", f"{uuid(1)}-7", f"{uuid(1)};{uuid(2)}"]),
    WORDS,
)
VALUES: dict[str, st.SearchStrategy[str]] = {
    keys.NUMA_ALIGNMENT: st.sampled_from(["strict", " Best-Effort ", "", "strikt"]),
    keys.NUMA_BIND: st.sampled_from(["true", "1", "false", " true", ""]),
    keys.USE_UUID: LISTS,
    keys.NOUSE_UUID: LISTS,
    keys.USE_TYPE: st.sampled_from(["H100", "a100", ", ,", "", " "]),
    keys.NOUSE_TYPE: st.sampled_from(["H100", "A100", ",", ""]),
    keys.VGPU_MODE: st.sampled_from(["mig", " MIG", "hami-core", "mps", ""]),
    keys.GPU_POLICY: st.sampled_from(["mutex", "binpack,numa", "topology-aware", "spred", ""]),
    keys.NODE_POLICY: st.sampled_from(["binpack", " spread ", "", "numa"]),
    keys.SCORING_WEIGHTS: st.sampled_from(["slot=1,core=1,memory=1", "slot=1", ""]),
    keys.OVERWRITE_ENV: st.sampled_from(["true", "false", "x"]),
    keys.OVERWRITE_ENV_CONTAINERS: st.sampled_from(['{"c0": "true"}', "[]", "{"]),
    keys.INJECTED: st.sampled_from(["", "schedulerName", "a,b"]),
    keys.JUDGED: st.sampled_from(["", "0123456789ab"]),
    "hami.io/numa-bind": st.just("true"),
    "nvidia.com/gpumem": st.just("8000"),
    "team~a/b": st.just("c"),
    "scheduling.k8s.io/group-name": st.sampled_from(["", "g"]),
}
ANNOTATIONS = st.fixed_dictionaries({}, optional=VALUES)
FORGED = st.fixed_dictionaries({}, optional={keys.TO_ALLOCATE: WORDS, "hami.io/MLU-devices-allocated": WORDS})

AMOUNTS = st.one_of(
    st.integers(-2, 5),
    st.sampled_from(["0", "1", "2", "50", "100", "101", "500m", "1000m", "20k", "16Gi", "x", "", "-1", "1e3", "1e400"]),
    st.sampled_from([100, 8000, 90000, 2**31, 10**30, 0.5, 2.0, True]),
)
RESOURCES = st.fixed_dictionaries(
    {},
    optional={
        COUNT: AMOUNTS,
        MEMORY: AMOUNTS,
        PERCENT: AMOUNTS,
        CORES: AMOUNTS,
        "nvidia.com/priority": st.sampled_from([0, 1, "1", "x"]),
        "nvidia.com/mig-1g.10gb": st.just(1),
        "cpu": st.sampled_from(["8", "500m", 2]),
        "memory": st.sampled_from(["8Gi", 0]),
    },
)
SOUND = st.fixed_dictionaries(
    {},
    optional={
        COUNT: st.sampled_from([0, 1, 2, 3, "2"]),
        MEMORY: st.sampled_from([0, 8000, "20k"]),
        PERCENT: st.sampled_from([0, 50, 100]),
        CORES: st.sampled_from([0, 30, "100"]),
        "nvidia.com/priority": st.just(1),
        "cpu": st.just("8"),
        "memory": st.just("8Gi"),
    },
)
ENV = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["A", "NVIDIA_VISIBLE_DEVICES", "CUDA_TASK_PRIORITY", "GPU_CORE_UTILIZATION_POLICY"])},
        optional={"value": st.sampled_from(["", "1", "all", "force"]), "valueFrom": st.just({"fieldRef": {}})},
    ),
    max_size=3,
)


def _containers(resources: st.SearchStrategy[dict[str, Any]], least: int, most: int) -> st.SearchStrategy[Any]:
    one = st.fixed_dictionaries(
        {},
        optional={
            "resources": st.one_of(
                st.none(),
                st.fixed_dictionaries({}, optional={"limits": st.none() | resources, "requests": resources}),
            ),
            "env": st.none() | ENV,
            "restartPolicy": st.sampled_from(["Always", "Never"]),
            "securityContext": st.sampled_from([None, {"privileged": True}, {"privileged": False}]),
            "aFieldOfTomorrow": st.just({"b": [1, None]}),
        },
    )
    numbered = st.lists(one, min_size=least, max_size=most)
    return numbered.map(lambda found: [{"name": f"c{place}", **item} for place, item in enumerate(found)])


TERM = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}
AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]}}}


def pods(
    resources: st.SearchStrategy[dict[str, Any]] = RESOURCES, least: int = 0, **spec: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Pods whose annotations and amounts may be wrong in every way, and whose shape is Kubernetes'."""
    annotations = st.none() | st.builds(lambda one, other: {**one, **other}, ANNOTATIONS, FORGED | st.just({}))
    metadata = st.fixed_dictionaries(
        {"namespace": st.just("team")},
        optional={
            "annotations": annotations,
            "labels": st.just({"scheduling.x-k8s.io/pod-group": "g"}),
            "ownerReferences": st.just([{"kind": "ReplicaSet", "controller": True}]),
            "managedFields": st.just([{"manager": "x"}]),
        },
    )
    fields = {
        "initContainers": _containers(resources, 0, 2),
        "schedulerName": st.sampled_from(["", "default-scheduler", "hami-scheduler", "volcano"]),
        "nodeName": st.sampled_from(["", "n0"]),
        "runtimeClassName": st.sampled_from(["", "kata"]),
        "nodeSelector": st.sampled_from([{"pool": "a"}, {"pool": "z"}]),
        "affinity": st.just(AFFINITY),
        "tolerations": st.just([{"operator": "Exists"}]),
        "resources": st.just({"limits": {"cpu": 1}}),
        **spec,
    }
    made = st.fixed_dictionaries({"containers": _containers(resources, least, 3)}, optional=fields)
    return st.fixed_dictionaries({"kind": st.just("Pod"), "metadata": metadata, "spec": made})


CARDS = st.builds(
    Card,
    uuid=UUIDS,
    memory=st.sampled_from([0, 40000, 80000]),
    cores=st.sampled_from([50, 100]),
    type=st.sampled_from(["NVIDIA-H100", "NVIDIA-A100", ""]),
    numa=st.sampled_from([-1, 0, 1, 33]),
    mode=st.sampled_from(["", "hami-core", "mig"]),
    healthy=st.booleans(),
)
KUBELETS = st.builds(
    Kubelet,
    topology_policy=st.sampled_from([None, "none", "best-effort", "restricted", "single-numa-node"]),
    advertises_numa=st.sampled_from([None, True, False]),
)
TAINTS = st.lists(
    st.fixed_dictionaries({"effect": st.sampled_from(["NoSchedule", "PreferNoSchedule"])}, optional={"key": WORDS}),
    max_size=1,
).map(tuple)


def _apart(nodes: list[Node]) -> list[Node]:
    """The same nodes, named, and each card on one of them only."""
    seen: set[str] = set()
    found = []
    for place, node in enumerate(nodes):
        cards = {card.uuid: card for card in node.cards if card.uuid not in seen}
        seen |= cards.keys()
        found.append(Node(f"n{place}", node.labels, tuple(cards.values()), taints=node.taints, kubelet=node.kubelet))
    return [
        Node(one.name, one.labels, problem=old.problem) if old.problem else one
        for one, old in zip(found, nodes, strict=True)
    ]


NODES = st.lists(
    st.builds(
        Node,
        name=st.just(""),
        labels=st.sampled_from([{}, {"pool": "a"}, {"pool": "b"}]),
        cards=st.lists(CARDS, max_size=5).map(tuple),
        taints=TAINTS,
        kubelet=KUBELETS,
        problem=st.sampled_from(["", "", "", "no JSON"]),
    ),
    max_size=4,
).map(_apart)
QUOTAS = st.sampled_from([None, Quota(10000, 100), Quota(0, None), Quota(None, 0)])
HELD = st.sampled_from([Use(), Use(1, 9000, 90), Use(9, 99999, 999)])
FACTS = st.builds(
    lambda nodes, quota, held: cluster(*nodes, quotas={"team": quota} if quota else {}, held={"team": held}),
    NODES.filter(bool),
    QUOTAS,
    HELD,
)

HAMI = st.builds(
    HamiConfig,
    default_memory=st.sampled_from([0, 4000, 4096]),
    default_cores=st.sampled_from([0, 25, 100]),
    default_count=st.sampled_from([0, 1, 2]),
    memory_factor=st.sampled_from([1, 1024]),
    core_policy=st.sampled_from(["", "default", "force"]),
    overwrite_env=st.booleans(),
    runtime_class=st.sampled_from(["", "nvidia"]),
    scheduler_name=st.sampled_from(["", "hami-scheduler"]),
    overwrite_default_scheduler=st.booleans(),
)
OPERATORS = st.builds(
    Operator,
    hami=HAMI,
    static_cluster=st.booleans(),
    refit_enabled=st.booleans(),
    authority=st.sampled_from(["self", "hami"]),
    writers=st.just(frozenset({"hami"})),
)
LEVELS = st.builds(
    resolve,
    st.dictionaries(st.sampled_from(sorted(BY_CODE)), st.sampled_from(Level), max_size=6),
    static_cluster=st.booleans(),
    default_alignment=st.sampled_from(["", "best-effort", "strict"]),
    opted_out=st.sampled_from([False, False, True]),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
