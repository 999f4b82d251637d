"""How releases read policies, what Coscheduling does with a gang, and when CPUs are a container's own."""

from fractions import Fraction

import pytest

from policy.capacity.chains import Chain, NodePolicy, last_zone_holds, read_chain, read_node_policy, some_zone_holds
from policy.capacity.exclusive import CpuSettings, is_admitted, is_exclusive
from policy.capacity.gate import Gate, Outcome, after_failure


@pytest.mark.parametrize(
    ("text", "valid", "filters", "keys", "dead"),
    [
        ("binpack", True, (), ("binpack", "numa*"), ()),
        ("spread", True, (), ("spread", "numa*"), ()),
        ("numa", True, (), ("numa",), ()),
        ("mutex", True, ("mutex",), ("busy-first", "numa*"), ()),
        ("topology-aware", True, ("topology-aware",), ("spread", "numa*"), ()),
        (" binpack ", True, (), ("spread", "numa*"), ()),
        ("Binpack", False, (), ("spread", "numa*"), ()),
        ("", False, (), ("spread", "numa*"), ()),
        ("binpack,", False, (), ("binpack",), ()),
        ("binpack,whatever,numa", False, (), ("binpack", "numa"), ()),
        ("numa,numa,binpack", True, (), ("numa", "binpack"), ()),
        ("binpack,numa,spread", True, (), ("binpack", "numa", "spread"), ("spread",)),
        ("mutex , topology-aware,mutex", True, ("mutex", "topology-aware"), ("spread",), ()),
    ],
)
def test_a_policy_for_cards_is_read_as_each_release_reads_it(
    text: str, valid: bool, filters: tuple[str, ...], keys: tuple[str, ...], dead: tuple[str, ...]
) -> None:
    assert read_chain(text) == Chain(valid, filters, keys, dead)


@pytest.mark.parametrize(
    ("text", "configured", "expected"),
    [
        ("spread", "binpack", NodePolicy(True, "spread", "spread")),
        (" spread ", "binpack", NodePolicy(True, "binpack", "spread")),
        ("binpack,spread", "spread", NodePolicy(False, "binpack", "spread")),
        ("typo", "spread", NodePolicy(False, "binpack", "spread")),
    ],
)
def test_a_policy_for_nodes_takes_one_of_two_words(text: str, configured: str, expected: NodePolicy) -> None:
    assert read_node_policy(text, configured) == expected


@pytest.mark.parametrize(
    ("visits", "cards", "old", "any_"),
    [([1, 1, 0], 2, False, True), ([0, 1, 1], 2, True, True), ([0, 1], 2, False, False), ([], 1, False, False)],
)
def test_the_old_release_forgets_the_numa_nodes_it_saw_before_the_last(
    visits: list[int], cards: int, old: bool, any_: bool
) -> None:
    assert (last_zone_holds(visits, cards), some_zone_holds(visits, cards)) == (old, any_)


@pytest.mark.parametrize(
    ("minimum", "assigned", "existing", "expected"),
    [
        (20, 18, 20, Gate(Outcome.WAITING, 18)),
        (20, 17, 20, Gate(Outcome.REJECTED)),
        (4, 3, 4, Gate(Outcome.REJECTED)),
        (4, 0, 3, Gate(Outcome.TOO_FEW_PODS)),
        (4, 4, 6, Gate(Outcome.SATISFIED)),
        (0, 0, 0, Gate(Outcome.SATISFIED)),
    ],
)
def test_a_failed_member_rejects_the_waiting_ones_where_the_gap_is_over_a_tenth(
    minimum: int, assigned: int, existing: int, expected: Gate
) -> None:
    assert after_failure(minimum, assigned, existing) == expected


def test_a_wider_threshold_keeps_three_of_four_waiting() -> None:
    assert after_failure(4, 3, 4, reject_percent=25) == Gate(Outcome.WAITING, 3)
    assert after_failure(4, 3, 4, reject_percent=24) == Gate(Outcome.REJECTED)


@pytest.mark.parametrize(
    ("qos", "cpus", "settings", "exclusive", "admitted"),
    [
        ("Guaranteed", 16, CpuSettings("static"), True, True),
        ("Guaranteed", 16, CpuSettings("none"), False, True),
        ("Burstable", 16, CpuSettings("static"), False, True),
        ("Guaranteed", Fraction("15.5"), CpuSettings("static", True, 2), False, True),
        ("Guaranteed", 0, CpuSettings("static"), False, True),
        ("Guaranteed", 15, CpuSettings("static", True, 2), True, False),
        ("Guaranteed", 16, CpuSettings("static", True, 2), True, True),
        ("Guaranteed", 15, CpuSettings("static", False, 2), True, True),
    ],
)
def test_cpus_are_a_containers_own_where_kubelet_pins_it(
    qos: str, cpus: int | Fraction, settings: CpuSettings, exclusive: bool, admitted: bool
) -> None:
    asked = Fraction(cpus)
    assert (is_exclusive(qos, asked, settings), is_admitted(qos, asked, settings)) == (exclusive, admitted)


def test_whole_physical_cores_come_in_steps_of_their_threads() -> None:
    assert (CpuSettings("static", True, 2).step, CpuSettings("static", False, 2).step) == (2000, 1000)
