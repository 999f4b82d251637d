"""A changed file is taken over, a bad one is refused, and something good is always in force."""

import logging
from pathlib import Path

import pytest

from policy.admission.finding import Level
from webhook.levels.reading import LevelsError
from webhook.levels.source import LevelsSource

DAY = 86_400.0

AUDIT = "version: numafit.io/v1\nlevels: {pin-blank: audit}\n"
OFF = "version: numafit.io/v1\nlevels: {pin-blank: off}\n"
EXEMPT = """version: numafit.io/v1
exemptions: [{codes: [pin-blank], namespaces: [a], owner: team-a, reason: r, expires: 1970-01-01}]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "levels.yaml"
    path.write_text(AUDIT)
    return path


def replace(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def looks(source: LevelsSource) -> list[bool]:
    """What two looks in a row find, which is what it takes for a change to count."""
    return [source.refresh(), source.refresh()]


def level(source: LevelsSource, now: float = 0.0) -> Level:
    return source.current.levels("a", {}, {}, now).by_code["pin-blank"]


def test_without_a_path_the_built_in_defaults_are_in_force() -> None:
    source = LevelsSource(None)
    assert (looks(source), level(source), source.problem) == ([False, False], Level.WARN, "")


def test_the_server_does_not_start_from_a_bad_file(path: Path) -> None:
    path.write_text("version: numafit.io/v1\nlevles: {}\n")
    with pytest.raises(LevelsError) as caught:
        LevelsSource(path)
    assert str(caught.value) == f"{path}: levles is no key of the policy file; did you mean levels?"


def test_the_server_does_not_start_without_the_file_that_it_was_told(tmp_path: Path) -> None:
    with pytest.raises(LevelsError, match="does not exist; put the policy file there"):
        LevelsSource(tmp_path / "levels.yaml")


def test_an_unchanged_file_is_not_read_again(path: Path) -> None:
    source = LevelsSource(path)
    before = source.current
    assert looks(source) == [False, False]
    assert source.current is before


def test_a_good_change_is_in_force_at_the_second_look(path: Path) -> None:
    source = LevelsSource(path)
    replace(path, OFF)
    assert (source.refresh(), level(source)) == (False, Level.AUDIT)
    assert (source.refresh(), level(source)) == (True, Level.OFF)
    assert source.refresh() is False


def test_who_owns_reservations_survives_a_change(path: Path) -> None:
    source = LevelsSource(path, authority="hami")
    replace(path, OFF)
    looks(source)
    assert source.current.operator.authority == "hami"


def test_a_file_that_is_still_being_written_is_not_read(path: Path) -> None:
    """Each part is a good file by itself, and none of them is what its author means."""
    source = LevelsSource(path)
    with path.open("w") as file:
        for part in ("version: numafit.io/v1\n", "levels:\n", "  pin-blank: off\n"):
            file.write(part)
            file.flush()
            assert (source.refresh(), source.problem, level(source)) == (False, "", Level.AUDIT)
    assert (source.refresh(), level(source)) == (True, Level.OFF)


def test_a_bad_change_is_refused_and_the_last_good_one_stays(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = LevelsSource(path)
    before = source.current
    replace(path, "version: numafit.io/v1\nlevels: {pin-blank: of}\norder: x\n")
    assert looks(source) == [False, False]
    assert source.current is before
    problem = (
        f"{path}: levels.pin-blank is 'of'; write 'enforce', 'warn', 'audit' or 'off'",
        f"{path}: order is 'x'; write 'numafit' or 'hami'",
    )
    assert source.problem == "\n".join(problem)
    assert source.notes() == problem
    looks(source)
    assert caplog.messages == [
        f"the changed policy file is refused, the last good one stays in force: {problem[0]}; {problem[1]}"
    ]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"levels: [", b"version: numafit.io/v1\nlevels: {a", b"- 1"])
def test_whatever_a_writer_leaves_behind_the_last_good_one_stays(path: Path, content: bytes) -> None:
    source = LevelsSource(path)
    path.write_bytes(content)
    assert (looks(source), level(source)) == ([False, False], Level.AUDIT)
    assert source.problem.startswith(f"{path}: ")


def test_a_good_file_after_a_bad_one_ends_the_problem(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    source = LevelsSource(path)
    replace(path, "version: 1")
    looks(source)
    replace(path, OFF)
    assert (looks(source), level(source), source.problem) == ([False, True], Level.OFF, "")
    assert caplog.messages[-1] == f"the changed policy file {path} is in force"


def test_the_same_good_file_put_back_ends_the_problem_too(path: Path) -> None:
    source = LevelsSource(path)
    kept = path.with_suffix(".kept")
    path.rename(kept)
    looks(source)
    kept.rename(path)
    assert (looks(source), source.problem) == ([False, True], "")


def test_a_deleted_file_leaves_the_last_good_one_in_force(path: Path) -> None:
    source = LevelsSource(path)
    path.unlink()
    assert (looks(source), level(source)) == ([False, False], Level.AUDIT)
    assert source.problem == f"{path}: does not exist; put the policy file there, or leave the setting out"


def test_a_config_map_is_followed_through_its_links(tmp_path: Path) -> None:
    """Kubernetes: a mounted ConfigMap is a link to `..data/KEY`, and an update swaps where `..data` points."""
    for name, text in (("..1", AUDIT), ("..2", OFF)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "levels.yaml").write_text(text)
    data = tmp_path / "..data"
    data.symlink_to("..1")
    (tmp_path / "levels.yaml").symlink_to("..data/levels.yaml")
    source = LevelsSource(tmp_path / "levels.yaml")
    (tmp_path / "..data_tmp").symlink_to("..2")
    (tmp_path / "..data_tmp").rename(data)
    assert (looks(source), level(source)) == ([False, True], Level.OFF)


def test_a_link_to_nothing_is_a_problem_that_names_it(path: Path) -> None:
    source = LevelsSource(path)
    path.unlink()
    path.symlink_to("gone")
    assert (looks(source), level(source)) == ([False, False], Level.AUDIT)
    assert source.problem == f"{path}: cannot be read: is a symbolic link to gone, which does not exist"


def test_an_exemption_that_expires_is_told_once_and_noted_until_it_is_gone(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text(EXEMPT)
    now = [DAY - 1]
    source = LevelsSource(path, clock=lambda: now[0])
    source.refresh()
    assert (level(source, now[0]), source.notes(), caplog.messages) == (Level.OFF, (), [])
    now[0] = DAY
    looks(source)
    line = "exemptions[0] of 'team-a' (pin-blank) expired 1970-01-01 and no longer counts; renew or remove it"
    assert (level(source, now[0]), source.notes()) == (Level.WARN, (line,))
    assert caplog.messages == [f"policy file: {line}"]
    replace(path, AUDIT)
    looks(source)
    assert source.notes() == ()


def test_an_exemption_that_had_expired_before_the_start_is_told(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_text(EXEMPT)
    LevelsSource(path, clock=lambda: DAY)
    assert len(caplog.messages) == 1
