"""What programs read of a review: JSON, JUnit and SARIF."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.cli.conftest import GALLERY, Numafit


def xml(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - written by the command under test


FILES = [GALLERY / name for name in ("cronjob.yaml", "shared.yaml", "broken.yaml", "chart/values.yaml")]


@pytest.fixture
def in_gallery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GALLERY)


@pytest.mark.usefixtures("in_gallery")
def test_json_says_everything_about_a_finding(numafit: Numafit) -> None:
    document = json.loads(numafit("review", "cronjob.yaml", "-o", "json").out)
    assert (document["apiVersion"], document["kind"]) == ("numafit.io/v1", "Review")
    (pod,) = document["pods"]
    assert (pod["file"], pod["document"], pod["line"], pod["verdict"]) == ("cronjob.yaml", 1, 13, "refused")
    finding = pod["findings"][0]
    message = finding.pop("message")
    assert finding == {
        "code": "percent-out-of-range",
        "level": "enforce",
        "remedy": "Write 0 to 100.",
        "container": "eval",
        "line": 22,
    }
    assert 'container "eval"' in message


@pytest.mark.usefixtures("in_gallery")
def test_json_says_what_would_be_filled_in(numafit: Numafit) -> None:
    document = json.loads(numafit("review", "shared.yaml", "-o", "json").out)
    filled = ["schedulerName", "tensorflow:nvidia.com/gpu=1", "tensorflow:CUDA_TASK_PRIORITY=1"]
    assert [(pod["verdict"], pod["filledIn"]) for pod in document["pods"]] == [("allowed", filled)] * 2


def test_junit_has_a_case_for_each_pod_and_for_what_was_not_judged(numafit: Numafit) -> None:
    answer = numafit("review", *FILES, "-o", "junit")
    assert answer.code == 2
    root = xml(answer.out)
    counts = {
        Path(suite.attrib["name"]).name: [suite.attrib[key] for key in ("tests", "failures", "errors", "skipped")]
        for suite in root.findall("testsuite")
    }
    assert root.tag == "testsuites"
    assert counts == {
        "cronjob.yaml": ["1", "1", "0", "0"],
        "shared.yaml": ["2", "0", "0", "0"],
        "broken.yaml": ["1", "0", "1", "0"],
        "values.yaml": ["1", "0", "0", "1"],
    }


@pytest.mark.usefixtures("in_gallery")
def test_junit_keeps_warnings_apart_from_failures(numafit: Numafit) -> None:
    root = xml(numafit("review", "cronjob.yaml", "-o", "junit").out)
    (case,) = root.iter("testcase")
    failure, output = case.find("failure"), case.find("system-out")
    assert failure is not None
    assert output is not None
    assert case.attrib["name"] == "CronJob default/nightly-eval/spec/jobTemplate/spec/template"
    assert failure.attrib == {"type": "enforce", "message": "percent-out-of-range"}
    assert (failure.text or "").startswith("cronjob.yaml:22: percent-out-of-range: ")
    assert (output.text or "").startswith("cronjob.yaml:10: warn: annotation-on-owner: ")


def test_junit_is_xml_whatever_names_hold(numafit: Numafit) -> None:
    name = "a\\u0000<&\\u001b"
    text = f'{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}"}}, "spec": {{"containers": []}}}}'
    (case,) = xml(numafit("review", "-", "-o", "junit", stdin=text).out).iter("testcase")
    assert case.attrib["name"] == "Pod default/a\\x00<&\\x1b"


@pytest.mark.usefixtures("in_gallery")
def test_sarif_has_what_the_standard_requires(numafit: Numafit) -> None:
    answer = numafit("review", "cronjob.yaml", "raycluster.yaml", "-o", "sarif")
    document = json.loads(answer.out)
    assert (document["version"], document["$schema"]) == ("2.1.0", "https://json.schemastore.org/sarif-2.1.0.json")
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "numafit"
    assert all(rule["shortDescription"]["text"] and rule["help"]["text"] for rule in rules)
    assert [(one["ruleId"], one["level"], rules[one["ruleIndex"]]["id"]) for one in run["results"]] == [
        ("percent-out-of-range", "error", "percent-out-of-range"),
        ("annotation-on-owner", "warning", "annotation-on-owner"),
        ("alignment-unknown", "error", "alignment-unknown"),
        ("privileged-gpu", "error", "privileged-gpu"),
    ]
    assert all(one["message"]["text"] for one in run["results"])
    places = [one["locations"][0]["physicalLocation"] for one in run["results"]]
    assert [(place["artifactLocation"]["uri"], place["region"]["startLine"]) for place in places] == [
        ("cronjob.yaml", 22),
        ("cronjob.yaml", 10),
        ("raycluster.yaml", 22),
        ("raycluster.yaml", 25),
    ]
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_sarif_says_what_was_not_judged(numafit: Numafit) -> None:
    (run,) = json.loads(numafit("review", *FILES[2:], "-o", "sarif").out)["runs"]
    (invocation,) = run["invocations"]
    assert run["results"] == []
    assert invocation["executionSuccessful"] is False
    assert [one["level"] for one in invocation["toolExecutionNotifications"]] == ["error", "note"]


def test_sarif_names_files_by_valid_addresses(numafit: Numafit, tmp_path: Path) -> None:
    path = tmp_path / "a b%ü.yaml"
    path.write_text((GALLERY / "copied.yaml").read_text())
    (run,) = json.loads(numafit("review", path, "-o", "sarif").out)["runs"]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == f"{tmp_path}/a%20b%25%C3%BC.yaml"
