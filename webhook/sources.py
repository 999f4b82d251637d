"""Where settings come from: defaults, the settings file (YAML), the environment, flags; the later one wins.

A name that is no setting and a value that is not allowed are refused, all of them at once, so that one look is
enough to mend them.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from webhook.settings import GROUPS, LEAVES, PREFIX, VERSION, Settings, variable
from webhook.yaml_text import YamlError, parse


class SettingsError(Exception):
    """Settings that cannot be used. The text has one line for each mistake and says how to mend it."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings in force, and for each dotted name the source that set it."""

    settings: Settings
    sources: Mapping[str, str]


class _Given(NamedTuple):
    value: object
    source: str


def load(file: Path | None, environ: Mapping[str, str], flags: Mapping[str, object]) -> Loaded:
    """Put the settings together.

    `flags` maps dotted names to what the command line was given; None is a flag that was not given. Raises
    SettingsError for a file that cannot be read, a name that is no setting and a value that is not allowed.
    """
    given = _from_file(file) if file else {}
    mistakes = [f"{name} in {found.source} {_no_setting(name)}" for name, found in given.items() if name not in LEAVES]
    variables = {variable(name): name for name in LEAVES}
    for name, value in _own(environ).items():
        if name in variables:
            given[variables[name]] = _Given(value, f"environment {name}")
        else:
            dotted = name.removeprefix(PREFIX).lower().replace("__", ".")
            mistakes.append(f"{name} in the environment {_no_setting(dotted, variable)}")
    given |= {name: _Given(value, "flag") for name, value in flags.items() if value is not None}
    if mistakes:
        raise SettingsError("\n".join(mistakes))
    sources = {name: given[name].source if name in given else "default" for name in LEAVES}
    return Loaded(_validated(given), sources)


def _own(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables meant for numafit, without those that the kubelet injects for Services.

    Kubernetes: a Service `numafit` gives every pod of its namespace NUMAFIT_SERVICE_… and NUMAFIT_PORT…, and a
    Service `numafit-x` the same under NUMAFIT_X.
    """
    services = {"NUMAFIT", *(n.removesuffix("_SERVICE_HOST") for n in environ if n.endswith("_SERVICE_HOST"))}
    prefixes = tuple(f"{service}{kind}" for service in services for kind in ("_SERVICE_", "_PORT_"))
    ports = {f"{service}_PORT" for service in services}
    return {
        name: value
        for name, value in environ.items()
        if name.startswith(PREFIX) and name not in ports and not name.startswith(prefixes)
    }


def _no_setting(name: str, spelled: Callable[[str], str] = str) -> str:
    near = difflib.get_close_matches(name, LEAVES, n=1)
    return f"is no setting; {f'did you mean {spelled(near[0])}?' if near else '`numafit config show` lists all'}"


def _validated(given: Mapping[str, _Given]) -> Settings:
    nested: dict[str, Any] = {}
    for name, (value, _) in given.items():
        group, _, leaf = name.rpartition(".")
        (nested.setdefault(group, {}) if group else nested)[leaf] = value
    try:
        return Settings.model_validate(nested)
    except ValidationError as error:
        lines = (
            f"{name} is {mistake['input']!r} ({given[name].source}): {mistake['msg'].removeprefix('Value error, ')}"
            for mistake in error.errors(include_url=False)
            for name in [_leaf_of(mistake["loc"])]
        )
        raise SettingsError("\n".join(lines)) from None


def _leaf_of(place: tuple[int | str, ...]) -> str:
    return f"{place[0]}.{place[1]}" if place[0] in GROUPS else str(place[0])


def _from_file(file: Path) -> dict[str, _Given]:
    document = _parsed(file)
    if not isinstance(document, dict) or "version" not in document:
        raise SettingsError(f'{file} must be one YAML mapping with `version: "{VERSION}"` in it')
    given: dict[str, _Given] = {}
    for name, value in document.items():
        if name not in GROUPS:
            given[str(name)] = _Given(value, f"file {file}")
        elif isinstance(value, dict):
            given |= {f"{name}.{leaf}": _Given(found, f"file {file}") for leaf, found in value.items()}
        elif value is not None:
            raise SettingsError(f"{name} in {file} is {value!r}; it must be a mapping of settings")
    return given


def _parsed(file: Path) -> object:
    try:
        documents = parse(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the settings file {file} cannot be read: {error}") from None
    except YamlError as error:
        raise SettingsError(f"the settings file {file} is no YAML that numafit reads: {error}") from None
    return documents[0] if len(documents) == 1 else None
