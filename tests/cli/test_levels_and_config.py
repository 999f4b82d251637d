"""`numafit levels` and `numafit config`: what is in force."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from policy.admission.table import RULES
from tests.cli.conftest import ROOT, Numafit
from webhook.settings import LEAVES

FILE = """
version: numafit.io/v1
levels: {pin-blank: audit}
namespaces:
  - {names: [research], levels: {pin-blank: enforce}, defaultAlignment: best-effort}
  - {names: [system], optOut: true}
"""
EXPIRED = """
exemptions:
  - {codes: [pin-blank], namespaces: [research], owner: anna, reason: migration, expires: 2020-01-01}
"""


@pytest.fixture
def levels(tmp_path: Path) -> Path:
    path = tmp_path / "levels.yaml"
    path.write_text(FILE)
    return path


def test_a_good_file_is_said_to_be_one(numafit: Numafit, levels: Path) -> None:
    answer = numafit("levels", "check", levels)
    assert (answer.code, answer.out, answer.err) == (0, "", f"{levels} can be used\n")


def test_an_expired_exemption_is_a_finding(numafit: Numafit, levels: Path) -> None:
    levels.write_text(FILE + EXPIRED)
    answer = numafit("levels", "check", levels)
    assert answer.code == 1
    assert answer.err.startswith(f"{levels}: exemptions[0] of 'anna' (pin-blank) expired")


def test_every_mistake_of_a_file_has_its_line(numafit: Numafit, levels: Path) -> None:
    levels.write_text("version: numafit.io/v1\nlevles: {}\nstaticCluster: maybe\n")
    answer = numafit("levels", "check", levels)
    assert answer.code == 2
    assert "levles is no key of the policy file; did you mean levels?" in answer.err
    assert "staticCluster is 'maybe'; write true or false" in answer.err


@pytest.mark.parametrize(
    ("namespace", "level", "alignment", "opted_out"),
    [("default", "audit", "", False), ("research", "enforce", "best-effort", False), ("system", "off", "", True)],
)
def test_levels_are_shown_as_they_hold_in_a_namespace(
    numafit: Numafit, levels: Path, namespace: str, level: str, alignment: str, opted_out: bool
) -> None:
    document = json.loads(numafit("levels", "show", levels, "-n", namespace, "-o", "json").out)
    assert document["levels"]["pin-blank"] == level
    assert list(document["levels"]) == [rule.code for rule in RULES]
    assert (document["defaultAlignment"], document["optedOut"]) == (alignment, opted_out)


def test_the_policy_file_of_the_server_is_the_one_in_force(
    numafit: Numafit, levels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMAFIT_LEVELS_FILE", str(levels))
    assert json.loads(numafit("levels", "show", "-o", "json").out)["levels"]["pin-blank"] == "audit"


def test_the_table_names_the_built_in_level_where_it_differs(numafit: Numafit, levels: Path) -> None:
    lines = [line.split() for line in numafit("levels", "show", levels).out.splitlines()]
    assert ["pin-blank", "audit", "warn"] in lines
    assert ["pin-list-empty", "enforce"] in lines


def test_the_schema_of_the_policy_file_is_the_published_one(numafit: Numafit) -> None:
    assert json.loads(numafit("levels", "schema").out) == json.loads((ROOT / "docs" / "levels.schema.json").read_text())


def test_every_setting_is_shown_with_its_source(
    numafit: Numafit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "numafit.yaml"
    file.write_text("version: numafit.io/v1\nlisten: {port: 1234}\ncluster_files: [a.json, b.json]\n")
    monkeypatch.setenv("NUMAFIT_LOG__FORMAT", "json")
    shown = json.loads(numafit("config", "show", "--config", file, "-o", "json").out)["settings"]
    by_name = {one["name"]: (one["value"], one["source"]) for one in shown}
    assert list(by_name) == list(LEAVES)
    assert by_name["listen.port"] == (1234, f"file {file}")
    assert by_name["log.format"] == ("json", "environment NUMAFIT_LOG__FORMAT")
    assert by_name["listen.ops_port"] == (8080, "default")
    lines = numafit("config", "show", "--config", file).out.splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("cluster_files")] == [
        ["cluster_files", "a.json,b.json"]
    ]


def test_a_setting_that_does_not_exist_is_refused(numafit: Numafit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMAFIT_LOG__FORMT", "json")
    answer = numafit("config", "show")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("numafit: NUMAFIT_LOG__FORMT in the environment is no setting; did you mean")


def test_the_schema_of_the_settings_takes_a_settings_file(numafit: Numafit) -> None:
    validator = Draft202012Validator(json.loads(numafit("config", "schema").out))
    assert validator.is_valid({"version": "numafit.io/v1", "listen": {"port": 1234}})
    assert not validator.is_valid({"listen": {"prt": 1234}})
