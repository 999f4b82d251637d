"""A policy file is read whole, or refused with everything that is wrong with it."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.admission.finding import Level
from policy.hami.request import HamiConfig
from tests.levels.texts import BAD, GOOD, HEAD, Bad
from webhook.levels.document import Document
from webhook.levels.reading import LevelsError, load, read

DEFAULT_WRITERS = (
    "system:serviceaccount:kube-system:hami-scheduler",
    "system:serviceaccount:kube-system:hami-device-plugin",
    "system:serviceaccount:kube-system:hami",
    "system:serviceaccount:hami-system:hami-scheduler",
    "system:serviceaccount:hami-system:hami-device-plugin",
    "system:serviceaccount:hami-system:hami",
    "system:serviceaccount:numafit:numafit",
)


def problems(text: str) -> tuple[str, ...]:
    try:
        read(text)
    except LevelsError as error:
        return error.problems
    return ()


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_a_good_file_is_read(text: str) -> None:
    assert read(text).version == "numafit.io/v1"


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_a_bad_file_is_refused_with_path_value_and_what_is_allowed(bad: Bad) -> None:
    assert problems(HEAD + bad.text) == bad.lines


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "holds 0 documents; write one mapping that begins with `version: numafit.io/v1`"),
        (
            "# all of it is a comment\n",
            "holds 0 documents; write one mapping that begins with `version: numafit.io/v1`",
        ),
        ("- version: numafit.io/v1", "holds list; write one mapping that begins with `version: numafit.io/v1`"),
        (f"{HEAD}---\n{HEAD}", "holds 2 documents; write one mapping that begins with `version: numafit.io/v1`"),
        ("levels: {}", "version is missing: version of this format, `numafit.io/v1`"),
        ("version: v1", "version is 'v1'; write 'numafit.io/v1'"),
        ("version: 1", "version is 1; write 'numafit.io/v1'"),
        (
            f"{HEAD}levels: {{pin-blank: warn, pin-blank: off}}",
            "is no YAML that numafit reads: key 'pin-blank' stands twice, line 2, column 27; keep one",
        ),
    ],
)
def test_what_is_no_policy_file_at_all_is_said_to_be_none(text: str, line: str) -> None:
    assert problems(text) == (line,)


def test_of_very_many_mistakes_a_hundred_are_listed_and_the_rest_counted() -> None:
    lines = problems(HEAD + "levels:\n" + "".join(f"  code-{number}: warn\n" for number in range(150)))
    assert (len(lines), lines[-1]) == (101, "and 50 more")


def test_a_mistake_with_line_breaks_in_it_stays_one_line() -> None:
    lines = problems(HEAD + '"a\\nb": 1\nlevels: {pin-blank: "c\\nd"}\n')
    assert lines == (
        "levels.pin-blank is 'c\\nd'; write 'enforce', 'warn', 'audit' or 'off'",
        (
            "['a\\nb'] is no key of the policy file; known here are version, levels, staticCluster, refitEnabled, "
            "factsMaxAge, order, writers, hami, namespaces, exemptions, nodes"
        ),
    )


def test_a_file_that_says_nothing_leaves_every_default() -> None:
    document = read(HEAD)
    assert document == Document(version="numafit.io/v1")
    assert (document.static_cluster, document.refit_enabled, document.facts_max_age, document.order) == (
        False,
        True,
        "2m",
        "numafit",
    )
    assert document.hami.config == HamiConfig()
    assert document.writers == DEFAULT_WRITERS


def test_every_word_of_hami_arrives_where_the_engine_looks_for_it() -> None:
    document = read(
        HEAD
        + """
hami:
  resourceCountName: example.com/gpu
  resourceMemoryName: example.com/mem
  resourceMemoryPercentageName: example.com/percent
  resourceCoreName: example.com/cores
  resourcePriorityName: example.com/priority
  defaultMemory: 4000
  defaultCores: 30
  defaultGPUNum: 0
  memoryFactor: 1024
  gpuCorePolicy: force
  overwriteEnv: true
  runtimeClassName: nvidia
  schedulerName: other
  forceOverwriteDefaultScheduler: false
  gpuSchedulerPolicy: numa,binpack
  nodeSchedulerPolicy: spread
"""
    )
    assert document.hami.config == HamiConfig(
        count="example.com/gpu",
        memory="example.com/mem",
        percent="example.com/percent",
        cores="example.com/cores",
        priority="example.com/priority",
        default_memory=4000,
        default_cores=30,
        default_count=0,
        memory_factor=1024,
        core_policy="force",
        overwrite_env=True,
        runtime_class="nvidia",
        scheduler_name="other",
        overwrite_default_scheduler=False,
        default_gpu_policy="numa,binpack",
        default_node_policy="spread",
    )


def test_a_bare_off_means_the_level_off() -> None:
    assert read(GOOD["off without quotes"]).levels == {"pin-blank": Level.OFF, "pin-duplicate": Level.OFF}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "does not exist; put the policy file there, or leave the setting out"),
        (b"\xff", "cannot be read: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (b"#" * ((1 << 20) + 1), "cannot be read: has 1048577 bytes: 1048576 are allowed"),
        (b"version: v1", "version is 'v1'; write 'numafit.io/v1'"),
    ],
    ids=["missing", "no text", "too large", "bad"],
)
def test_a_file_that_cannot_be_used_is_named_in_each_line(tmp_path: Path, content: bytes | None, problem: str) -> None:
    path = tmp_path / "levels.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LevelsError) as caught:
        load(path)
    assert str(caught.value) == f"{path}: {problem}"


def test_a_directory_is_no_policy_file(tmp_path: Path) -> None:
    with pytest.raises(LevelsError, match="is a directory or a device: a regular file is needed"):
        load(tmp_path)


WORDS = (
    "version levels hami namespaces exemptions nodes names selector matchLabels codes matchExpressions operator values "
    "expires owner factsMaxAge writers pin-blank order"
)
KEYS = st.sampled_from(WORDS.split())
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("2027-01-01")
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3))


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(KEYS, TREES, max_size=4))
def test_any_yaml_is_read_or_refused_line_by_line(tree: dict[str, object]) -> None:
    assert all(line and "\n" not in line for line in problems(json.dumps(tree)))
