"""Pods that ask for no GPU: only what concerns any pod is said of them."""

from tests.policy.admission.build import (
    ALIGN,
    BIND,
    CORES,
    COUNT,
    NOPIN,
    PERCENT,
    PIN,
    cluster,
    container,
    judged,
    pod,
)


def test_a_pod_with_mig_resources_only_is_no_gpu_pod() -> None:
    source = pod(container({"nvidia.com/mig-1g.10gb": 1}), annotations={ALIGN: "nonsense"})
    assert [finding.code for finding in judged(source, cluster()).findings] == ["not-a-gpu-pod"]


def test_of_a_pod_without_a_gpu_only_the_rules_for_any_pod_are_judged() -> None:
    wrong = {
        ALIGN: "nonsense",
        BIND: "nonsense",
        PIN: "0",
        NOPIN: "MIG-1",
        "hami.io/gpu-scheduler-policy": "nonsense",
        "hami.io/device-scoring-weights": "nonsense",
        "nvidia.com/use-gputype": ",",
    }
    plain = container({PERCENT: 101, CORES: 101, COUNT: 0}, securityContext={"privileged": True})
    source = pod(plain, annotations=wrong, nodeName="n1")
    assert {finding.code for finding in judged(source, cluster(), fresh=False).findings} == {
        "not-a-gpu-pod",
        "count-zero",
    }
