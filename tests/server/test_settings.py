"""Settings: which source wins, what is refused and in what words."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.running import ROOT
from webhook.settings import Settings, described
from webhook.sources import SettingsError, load

VERSION = 'version: "numafit.io/v1"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "numafit.yaml"


def test_without_any_source_everything_has_its_default() -> None:
    loaded = load(None, {}, {})
    assert loaded.settings == Settings()
    assert set(loaded.sources.values()) == {"default"}
    assert (loaded.settings.listen.port, loaded.settings.listen.ops_port) == (9443, 8080)
    assert loaded.settings.tls.service_name == "numafit"


def test_a_flag_wins_over_the_environment_that_over_the_file_and_each_says_so(file: Path) -> None:
    file.write_text(VERSION + "drain_seconds: 1\nlisten: {port: 1, ops_port: 1, host: a}\n")
    environ = {"NUMAFIT_LISTEN__PORT": "2", "NUMAFIT_LISTEN__OPS_PORT": "2"}
    loaded = load(file, environ, {"listen.port": 3, "listen.host": None})
    assert loaded.settings.listen.model_dump() == {"host": "a", "port": 3, "ops_port": 2}
    assert loaded.settings.drain_seconds == 1.0
    assert {name: loaded.sources[name] for name in ("listen.port", "listen.ops_port", "listen.host", "authority")} == {
        "listen.port": "flag",
        "listen.ops_port": "environment NUMAFIT_LISTEN__OPS_PORT",
        "listen.host": f"file {file}",
        "authority": "default",
    }


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("NUMAFIT_CLUSTER_FILES", "a.json, b.yaml,", (Path("a.json"), Path("b.yaml"))),
        ("NUMAFIT_DRAIN_SECONDS", "2.5", 2.5),
        ("NUMAFIT_AUTHORITY", "hami", "hami"),
        ("NUMAFIT_READY_FILE", "/run/ready", Path("/run/ready")),
    ],
)
def test_the_environment_sets_lists_numbers_words_and_paths(name: str, text: str, value: object) -> None:
    settings = load(None, {name: text}, {}).settings
    assert getattr(settings, name.removeprefix("NUMAFIT_").lower()) == value


def test_nested_settings_have_two_underscores() -> None:
    environ = {"NUMAFIT_TLS__SERVICE_NAME": "x", "NUMAFIT_LIMITS__IN_FLIGHT": "8"}
    settings = load(None, environ, {}).settings
    assert (settings.tls.service_name, settings.limits.in_flight) == ("x", 8)


@pytest.mark.parametrize(
    ("environ", "mistake"),
    [
        (
            {"NUMAFIT_TLS__SERVISE_NAME": "x"},
            "NUMAFIT_TLS__SERVISE_NAME in the environment is no setting; did you mean NUMAFIT_TLS__SERVICE_NAME?",
        ),
        (
            {"NUMAFIT_LISTEN_PORT": "1"},
            "NUMAFIT_LISTEN_PORT in the environment is no setting; did you mean NUMAFIT_LISTEN__PORT?",
        ),
        (
            {"NUMAFIT_Q": "1"},
            "NUMAFIT_Q in the environment is no setting; `numafit config show` lists all",
        ),
        (
            {"NUMAFIT_LIMITS__THREADS": "many"},
            (
                "limits.threads is 'many' (environment NUMAFIT_LIMITS__THREADS): "
                "Input should be a valid integer, unable to parse string as an integer"
            ),
        ),
        (
            {"NUMAFIT_AUTHORITY": "me"},
            "authority is 'me' (environment NUMAFIT_AUTHORITY): Input should be 'self' or 'hami'",
        ),
        (
            {"NUMAFIT_DEADLINES__BODY": "nan"},
            "deadlines.body is 'nan' (environment NUMAFIT_DEADLINES__BODY): Input should be greater than 0",
        ),
        (
            {"NUMAFIT_VERSION": "0.1.0"},
            "version is '0.1.0' (environment NUMAFIT_VERSION): Input should be 'numafit.io/v1'",
        ),
    ],
)
def test_a_wrong_variable_is_refused(environ: dict[str, str], mistake: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load(None, environ, {})
    assert str(refused.value) == mistake


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", '{file} must be one YAML mapping with `version: "numafit.io/v1"` in it'),
        ("- a\n", '{file} must be one YAML mapping with `version: "numafit.io/v1"` in it'),
        ("drain_seconds: 1\n", '{file} must be one YAML mapping with `version: "numafit.io/v1"` in it'),
        (VERSION + "---\na: 1\n", '{file} must be one YAML mapping with `version: "numafit.io/v1"` in it'),
        ("version: v2\n", "version is 'v2' (file {file}): Input should be 'numafit.io/v1'"),
        (VERSION + "drain_second: 1\n", "drain_second in file {file} is no setting; did you mean drain_seconds?"),
        (
            VERSION + "tls: {servise_name: 1}\n",
            "tls.servise_name in file {file} is no setting; did you mean tls.service_name?",
        ),
        (
            VERSION + "tls.service: x\n",
            "tls.service in file {file} is no setting; did you mean tls.service_name?",
        ),
        (VERSION + "listen: 9443\n", "listen in {file} is 9443; it must be a mapping of settings"),
        (VERSION + "limits: {threads: true}\n", "limits.threads is True (file {file}): Input should be a number"),
        (
            VERSION + "limits: {threads: 1}\n",
            "limits.threads is 1 (file {file}): Input should be greater than or equal to 4",
        ),
        (
            VERSION + "limits: {threads: {a: 1}}\n",
            "limits.threads is {{'a': 1}} (file {file}): Input should be a valid integer",
        ),
        (
            VERSION + "tls: {service_name: 5}\n",
            "tls.service_name is 5 (file {file}): Input should be a valid string",
        ),
        (
            VERSION + "cluster_files: [a, 5]\n",
            "cluster_files is 5 (file {file}): Input is not a valid path for <class 'pathlib.Path'>",
        ),
        (
            VERSION + "tls: {namespace: A_b}\n",
            (
                "tls.namespace is 'A_b' (file {file}): "
                "Input should be a name of up to 63 lower case letters, digits and inner dashes"
            ),
        ),
        (
            VERSION + "version: x\n",
            (
                "the settings file {file} is no YAML that numafit reads: "
                "key 'version' stands twice, line 2, column 1; keep one"
            ),
        ),
    ],
)
def test_a_wrong_file_is_refused(file: Path, text: str, mistake: str) -> None:
    file.write_text(text)
    with pytest.raises(SettingsError) as refused:
        load(file, {}, {})
    assert str(refused.value) == mistake.format(file=file)


def test_a_file_that_is_not_there_or_not_text_is_refused(file: Path) -> None:
    with pytest.raises(SettingsError, match=r"numafit\.yaml cannot be read: .*No such file"):
        load(file, {}, {})
    file.write_bytes(b"\xff")
    with pytest.raises(SettingsError, match=r"numafit\.yaml cannot be read: 'utf-8'"):
        load(file, {}, {})


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(SettingsError) as unknown:
        load(None, {"NUMAFIT_A": "", "NUMAFIT_B": ""}, {})
    assert len(str(unknown.value).splitlines()) == 2
    with pytest.raises(SettingsError) as wrong:
        load(None, {}, {"limits.threads": 0, "listen.port": -1})
    assert [line.split(" ")[0] for line in str(wrong.value).splitlines()] == ["listen.port", "limits.threads"]


def test_what_kubernetes_injects_for_services_is_no_setting() -> None:
    injected = {
        "NUMAFIT_SERVICE_HOST": "10.96.0.7",
        "NUMAFIT_SERVICE_PORT": "443",
        "NUMAFIT_SERVICE_PORT_HTTPS": "443",
        "NUMAFIT_PORT": "tcp://10.96.0.7:443",
        "NUMAFIT_PORT_443_TCP": "tcp://10.96.0.7:443",
        "NUMAFIT_PORT_443_TCP_ADDR": "10.96.0.7",
        "NUMAFIT_LISTEN_SERVICE_HOST": "10.96.0.8",
        "NUMAFIT_LISTEN_SERVICE_PORT": "80",
        "NUMAFIT_LISTEN_PORT": "tcp://10.96.0.8:80",
        "NUMAFIT_LISTEN_PORT_80_TCP_PROTO": "tcp",
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        "OTHER": "x",
    }
    loaded = load(None, injected, {})
    assert loaded.settings == Settings()
    assert load(None, {**injected, "NUMAFIT_LISTEN__PORT": "7"}, {}).settings.listen.port == 7


def test_the_page_about_settings_has_a_row_for_each() -> None:
    rows = [line for line in (ROOT / "docs/settings.md").read_text().splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{name}` | `{variable}` | {shown(default)} | {meaning} |"
        for name, variable, default, meaning in described()
    ]


def shown(default: object) -> str:
    return "" if default in (None, (), "") else f"`{str(default).lower() if isinstance(default, bool) else default}`"


def test_every_setting_is_described() -> None:
    assert [setting.name for setting in described() if not setting.meaning] == []


def test_settings_are_there_without_server_or_cluster_client() -> None:
    heavy = {"flask", "gunicorn", "kubernetes", "prometheus_client"}
    code = f"import sys, webhook.sources; print({heavy} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"
