"""What people write on pods, read as HAMi reads it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.hami.annotations import (
    AnnotationError,
    CardFilter,
    Weights,
    WeightsError,
    alignment,
    allows_mode,
    allows_type,
    allows_uuid,
    gpu_policy,
    is_valid_policy,
    items,
    node_policy,
    numa_bind,
    weights,
)
from policy.hami.golang import MAX_INT32, MAX_INT64, go_bool, go_int, trim
from policy.keys import (
    GPU_POLICY,
    NODE_POLICY,
    NOUSE_TYPE,
    NOUSE_UUID,
    NUMA_ALIGNMENT,
    NUMA_BIND,
    USE_TYPE,
    USE_UUID,
    VGPU_MODE,
)

few = settings(max_examples=80, deadline=None)


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_six_texts_are_true(text: str) -> None:
    assert go_bool(text) is True
    assert numa_bind({NUMA_BIND: text})


@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_six_texts_are_false(text: str) -> None:
    assert go_bool(text) is False
    assert not numa_bind({NUMA_BIND: text})


@pytest.mark.parametrize("text", ["", " true", "true ", "yes", "tRUE", "on", "2", "1.0"])
def test_every_other_text_is_no_boolean_and_binds_nothing(text: str) -> None:
    assert go_bool(text) is None
    assert not numa_bind({NUMA_BIND: text})


def test_a_missing_key_binds_nothing() -> None:
    assert not numa_bind({})


@pytest.mark.parametrize(
    ("text", "largest", "value"),
    [
        ("0", MAX_INT32, 0),
        ("+5", MAX_INT32, 5),
        ("-5", MAX_INT32, -5),
        ("-0", MAX_INT32, 0),
        ("007", MAX_INT32, 7),
        ("2147483647", MAX_INT32, 2147483647),
        ("2147483648", MAX_INT32, None),
        ("-2147483648", MAX_INT32, -2147483648),
        ("-2147483649", MAX_INT32, None),
        ("9223372036854775807", MAX_INT64, 9223372036854775807),
        ("9223372036854775808", MAX_INT64, None),
        ("0" * 5000 + "1", MAX_INT32, 1),
        ("9" * 5000, MAX_INT64, None),
        ("", MAX_INT32, None),
        ("+", MAX_INT32, None),
        ("1_0", MAX_INT32, None),
        (" 1", MAX_INT32, None),
        ("1.0", MAX_INT32, None),
        ("0x1", MAX_INT32, None),
        ("\u0661", MAX_INT32, None),
        ("1\n", MAX_INT32, None),
    ],
)
def test_reads_decimal_integers_as_go_does(text: str, largest: int, value: int | None) -> None:
    assert go_int(text, largest) == value


@few
@given(st.text(max_size=20))
def test_any_text_is_an_integer_or_none(text: str) -> None:
    value = go_int(text, MAX_INT32)
    assert value is None or -(2**31) <= value < 2**31


def test_trims_what_go_calls_white_space_and_nothing_else() -> None:
    assert trim("\u3000\x85 a \xa0\t\n") == "a"
    assert trim("\x1ca\u200b") == "\x1ca\u200b"


@pytest.mark.parametrize(
    ("text", "found"),
    [("a, b ,,c", ("a", "b", "c")), ("", ()), (" , ,", ()), ("a", ("a",)), ("a,a", ("a", "a"))],
)
def test_items_are_trimmed_and_blanks_dropped(text: str, found: tuple[str, ...]) -> None:
    assert items(text) == found


def test_no_alignment_is_asked_for_without_the_key() -> None:
    assert alignment({}) == ""


@pytest.mark.parametrize(
    ("text", "mode"),
    [("best-effort", "best-effort"), ("strict", "strict"), (" STRICT\t", "strict"), ("Best-Effort", "best-effort")],
)
def test_alignment_is_trimmed_and_read_in_any_case(text: str, mode: str) -> None:
    assert alignment({NUMA_ALIGNMENT: text}) == mode


@pytest.mark.parametrize("text", ["", " ", "required", "best effort", "strict,best-effort", "true"])
def test_another_alignment_is_refused_with_key_value_and_legal_values(text: str) -> None:
    with pytest.raises(AnnotationError) as refusal:
        alignment({NUMA_ALIGNMENT: text})
    assert str(refusal.value) == f"hami.io/numa-alignment is {text!r}; it must be best-effort or strict"


@pytest.mark.parametrize(
    ("use", "nouse", "allowed"),
    [
        (None, None, {"GPU-a", "GPU-b"}),
        ("GPU-a", None, {"GPU-a"}),
        (" GPU-b ,GPU-z", None, {"GPU-b"}),
        (" ", None, {"GPU-a", "GPU-b"}),
        (",", None, set()),
        ("gpu-a", None, set()),
        (None, "GPU-a", {"GPU-b"}),
        (None, "", {"GPU-a", "GPU-b"}),
        ("GPU-a,GPU-b", "GPU-b", {"GPU-a"}),
    ],
)
def test_lists_of_uuids_leave_cards(use: str | None, nouse: str | None, allowed: set[str]) -> None:
    given_ = {USE_UUID: use, NOUSE_UUID: nouse}
    annotations = {key: value for key, value in given_.items() if value is not None}
    assert {uuid for uuid in ("GPU-a", "GPU-b") if allows_uuid(annotations, uuid)} == allowed


@pytest.mark.parametrize(
    ("use", "nouse", "type_", "allowed"),
    [
        (None, None, "NVIDIA-A100", True),
        ("a100", None, "NVIDIA-A100", True),
        ("h100, A100", None, "NVIDIA-A100", True),
        ("H100", None, "NVIDIA-A100", False),
        ("H100,,", None, "NVIDIA-A100", False),
        (" ", None, "NVIDIA-A100", True),
        (", ,", None, "NVIDIA-A100", False),
        (None, "a10", "NVIDIA-A100", False),
        (None, ", ,", "NVIDIA-A100", True),
        ("A10", "A100", "NVIDIA A100", False),
        ("A10", "A100", "NVIDIA A10", True),
    ],
)
def test_lists_of_types_match_parts_of_a_name_in_any_case(
    use: str | None, nouse: str | None, type_: str, allowed: bool
) -> None:
    given_ = {USE_TYPE: use, NOUSE_TYPE: nouse}
    annotations = {key: value for key, value in given_.items() if value is not None}
    assert allows_type(annotations, type_) is allowed


@pytest.mark.parametrize(
    ("text", "mode", "allowed"),
    [
        (None, "mig", True),
        ("mig", "mig", True),
        ("hami-core,mig", "mig", True),
        ("hami-core", "mig", False),
        ("", "mig", False),
        ("hami-core", "", True),
    ],
)
def test_a_card_fits_if_its_mode_occurs_in_the_text(text: str | None, mode: str, allowed: bool) -> None:
    assert allows_mode({} if text is None else {VGPU_MODE: text}, mode) is allowed


@few
@given(st.dictionaries(st.sampled_from([USE_UUID, NOUSE_UUID, USE_TYPE, NOUSE_TYPE, VGPU_MODE]), st.text()), st.text())
def test_any_annotations_make_a_filter(annotations: dict[str, str], name: str) -> None:
    found = CardFilter.of(annotations)
    assert {found.allows_uuid(name), found.allows_type(name), found.allows_mode(name)} <= {True, False}


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        (None, "spread"),
        ("binpack", "binpack"),
        (" binpack ", "binpack"),
        ("mutex, topology-aware", "mutex,topology-aware"),
        ("numa ,spread", "numa,spread"),
        ("mutex,", "spread"),
        ("whatever", "spread"),
        ("", "spread"),
        ("Binpack", "spread"),
        ("binpack,whatever", "spread"),
    ],
)
def test_a_policy_with_one_bad_part_is_dropped_as_a_whole(text: str | None, policy: str) -> None:
    assert gpu_policy({} if text is None else {GPU_POLICY: text}, "spread") == policy
    assert text is None or is_valid_policy(text) is (policy == ",".join(items(text)))


@pytest.mark.parametrize(
    ("text", "policy"),
    [(None, "binpack"), ("spread", "spread"), (" spread", "spread"), ("binpack", "binpack"), ("x", "binpack")],
)
def test_every_node_policy_but_spread_is_binpack(text: str | None, policy: str) -> None:
    assert node_policy({} if text is None else {NODE_POLICY: text}, "binpack") == policy


def test_the_default_node_policy_counts_where_a_pod_names_none() -> None:
    assert node_policy({}, "spread") == "spread"


def test_weights_are_one_each_where_a_pod_names_none() -> None:
    assert weights(None) == Weights(slot=1, core=1, memory=1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("slot=1,core=2,memory=3", Weights(1, 2, 3)),
        (" memory = 3, slot = 1, core = 0 ", Weights(1, 0, 3)),
        ("slot=+1,core=00,memory=9223372036854775807", Weights(1, 0, 2**63 - 1)),
    ],
)
def test_weights_are_read_in_any_order(text: str, found: Weights) -> None:
    assert weights(text) == found


@pytest.mark.parametrize(
    ("text", "fault", "key"),
    [
        ("", "part_count", ""),
        ("slot=1,core=1", "part_count", ""),
        ("slot=1,core=1,memory=1,", "part_count", ""),
        ("slot=1,core,memory=3", "form", ""),
        ("slot=1,slot=x,memory=3", "duplicate", "slot"),
        ("slot=1,core=high,memory=3", "not_integer", "core"),
        ("slot==1,core=2,memory=3", "not_integer", "slot"),
        ("slot=9223372036854775808,core=2,memory=3", "not_integer", "slot"),
        ("slot=1,core=-1,memory=3", "negative", "core"),
        ("slot=1,bandwidth=2,memory=3", "unknown", "bandwidth"),
        ("slot=1,bandwidth=-2,memory=3", "negative", "bandwidth"),
        ("slot=0,core=0,memory=0", "all_zero", ""),
    ],
)
def test_wrong_weights_are_refused_with_the_first_fault(text: str, fault: str, key: str) -> None:
    with pytest.raises(WeightsError) as refusal:
        weights(text)
    assert (refusal.value.fault, refusal.value.key) == (fault, key)
    assert str(refusal.value).startswith(f"hami.io/device-scoring-weights is {text!r} ({fault.replace('_', ' ')}")
    assert "it must be slot=N,core=N,memory=N" in str(refusal.value)


@few
@given(st.text(max_size=40) | st.text(st.sampled_from(list("slotcremy=,0123- ")), max_size=40))
def test_any_text_is_weights_or_an_error(text: str) -> None:
    try:
        found = weights(text)
    except WeightsError as error:
        assert len(str(error)) < 400  # noqa: PT017 - either outcome is right, and both are looked at
    else:
        assert min(found.slot, found.core, found.memory) >= 0
