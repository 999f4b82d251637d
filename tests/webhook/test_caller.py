"""Who may call the refit: bearer tokens, a shared token file, and what a TokenReview says."""

import os
from pathlib import Path

import pytest

from webhook.caller import CALLER_CODES, POD_NAME, POD_UID, CallerPod, TokenFile, TokenReviewed, bearer, check_review

PLUGIN = "system:serviceaccount:hami-system:hami-device-plugin"
EXTRA = {POD_NAME: ["plugin-x"], POD_UID: ["uid-x"]}


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (None, ""),
        ("", ""),
        ("Bearer", ""),
        ("Bearer ", ""),
        ("Bearer abc", "abc"),
        ("Bearer  abc", " abc"),
        ("Bearer abc ", "abc "),
        ("bearer abc", ""),
        ("BEARER abc", ""),
        ("Basic abc", ""),
        (" Bearer abc", ""),
        ("Bearer\tabc", ""),
        ("Bearer abc,Bearer def", "abc,Bearer def"),
    ],
)
def test_a_token_is_what_stands_behind_the_exact_prefix(header: str | None, token: str) -> None:
    assert bearer(header) == token


def code(tokens: TokenFile, token: str) -> str:
    refused = tokens.check(token)
    return refused.code if refused else ""


def test_the_tokens_bearer_is_let_in_and_nobody_else(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("abc\n")
    tokens = TokenFile(file)
    assert code(tokens, "abc") == ""
    assert code(tokens, "") == "caller-no-token"
    for other in ("ab", "abcd", "ABC", " abc", "abc ", "abc\n", "\xa0abc", "abc\x00", "ä", "\ud800", "abc,abc"):
        assert code(tokens, other) == "caller-token-invalid", other
    assert tokens.problem() is None


def test_a_token_that_is_changed_counts_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("abc")
    tokens = TokenFile(file)
    assert code(tokens, "abc") == ""
    file.write_text("xyz-longer")
    assert (code(tokens, "abc"), code(tokens, "xyz-longer")) == ("caller-token-invalid", "")
    draft = tmp_path / "draft"
    draft.write_text("uvw-longer")
    os.utime(draft, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    draft.replace(file)
    assert (code(tokens, "xyz-longer"), code(tokens, "uvw-longer")) == ("caller-token-invalid", "")


@pytest.mark.parametrize("blank", [" ", "\t", "\xa0", "\u2003", "\n"])
def test_a_file_that_is_gone_or_empty_lets_nobody_in_whatever_was_in_it_before(tmp_path: Path, blank: str) -> None:
    file = tmp_path / "token"
    file.write_text("abc")
    tokens = TokenFile(file)
    assert code(tokens, "abc") == ""
    file.unlink()
    assert {code(tokens, token) for token in ("abc", blank, "x")} == {"caller-token-invalid"}
    assert tokens.problem() == f"{file} cannot be read: No such file or directory"
    file.write_text(" \n")
    assert {code(tokens, token) for token in ("abc", blank, "x")} == {"caller-token-invalid"}
    assert tokens.problem() == f"{file} is empty; write the token of the device plugins into it"


def test_no_reason_holds_the_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("expected-secret")
    refused = TokenFile(file).check("presented-secret")
    assert refused is not None
    assert "secret" not in refused.reason
    assert "caller authentication" in refused.reason


@pytest.mark.parametrize(
    ("token", "review", "pod", "expected"),
    [
        ("t", TokenReviewed(True, PLUGIN, EXTRA), CallerPod("uid-x", "node-1"), ""),
        ("", TokenReviewed(True, PLUGIN, EXTRA), CallerPod("uid-x", "node-1"), "caller-no-token"),
        ("t", TokenReviewed(False), None, "caller-token-invalid"),
        ("t", TokenReviewed(False, PLUGIN, EXTRA), CallerPod("uid-x", "node-1"), "caller-token-invalid"),
        ("t", TokenReviewed(True, "admin"), None, "caller-not-device-plugin"),
        (
            "t",
            TokenReviewed(True, "system:serviceaccount:research:hami-device-plugin", EXTRA),
            CallerPod("uid-x", "node-1"),
            "caller-not-device-plugin",
        ),
        ("t", TokenReviewed(True, PLUGIN), None, "caller-token-unbound"),
        ("t", TokenReviewed(True, PLUGIN, {POD_NAME: ["plugin-x"]}), None, "caller-token-unbound"),
        ("t", TokenReviewed(True, PLUGIN, {POD_NAME: [], POD_UID: []}), None, "caller-token-unbound"),
        ("t", TokenReviewed(True, PLUGIN, {POD_NAME: [""], POD_UID: ["u"]}), None, "caller-token-unbound"),
        ("t", TokenReviewed(True, PLUGIN, EXTRA), None, "caller-pod-unknown"),
        ("t", TokenReviewed(True, PLUGIN, EXTRA), CallerPod("uid-of-the-next", "node-1"), "caller-pod-unknown"),
        ("t", TokenReviewed(True, PLUGIN, EXTRA), CallerPod("uid-x", "node-2"), "caller-wrong-node"),
        ("t", TokenReviewed(True, PLUGIN, EXTRA), CallerPod("uid-x", ""), "caller-wrong-node"),
    ],
)
def test_a_review_lets_in_the_device_plugin_of_the_node_alone(
    token: str, review: TokenReviewed, pod: CallerPod | None, expected: str
) -> None:
    refused = check_review(token, review, pod, "node-1", PLUGIN)
    assert (refused.code if refused else "") == expected
    assert refused is None or (refused.code in CALLER_CODES and "caller authentication" in refused.reason)
