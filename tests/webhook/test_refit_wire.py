"""The refit's wire: read as Go's decoder reads it, written as the device plugin expects it."""

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.placement.refit import RefitRequest
from webhook.refit_wire import MalformedRefitError, failed, read_request, succeeded

GOOD: Final[dict[str, Any]] = {
    "podUID": "u",
    "podNamespace": "default",
    "podName": "p",
    "nodeName": "node-1",
    "containerIndex": 1,
    "containerName": "main",
    "deviceType": "NVIDIA",
    "allowedDeviceUUIDs": ["GPU-b", "GPU-c"],
}
READ: Final = RefitRequest("u", "default", "p", "node-1", 1, "main", "NVIDIA", ("GPU-b", "GPU-c"))


def body(**changes: object) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


@pytest.mark.parametrize(
    "sent",
    [
        body(),
        b" \t\r\n" + body() + b" trailing {",
        body(futureField={"a": [1, {}]}),
        json.dumps({key.upper(): value for key, value in GOOD.items()}).encode(),
        json.dumps({key.lower(): value for key, value in GOOD.items()}).encode(),
        b'{"podUID":"other",' + body()[1:],
        b'{"podUID":null,' + body()[1:],
        body()[:-1] + b',"podUID":null}',
        body().replace(b"podUID", b"podU\\u0049D"),
    ],
)
def test_what_go_would_read_is_read(sent: bytes) -> None:
    assert read_request(sent) == READ


def test_a_long_s_is_an_s_in_a_key_as_in_go() -> None:
    assert read_request('{"podName\u017fpace":"b"}'.encode()).pod_namespace == "b"


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"{}", RefitRequest("", "", "", "", 0, "", "", ())),
        (b"null", RefitRequest("", "", "", "", 0, "", "", ())),
        (b'{"allowedDeviceUUIDs":[null,"a"]}', RefitRequest("", "", "", "", 0, "", "", ("", "a"))),
        (b'{"containerIndex":-0}', RefitRequest("", "", "", "", 0, "", "", ())),
        (b'{"containerIndex":-1}', RefitRequest("", "", "", "", -1, "", "", ())),
        (b'{"containerIndex":9223372036854775807}', RefitRequest("", "", "", "", 2**63 - 1, "", "", ())),
        (b'{"podUID":"\\ud800x\\udc00"}', RefitRequest("\ufffdx\ufffd", "", "", "", 0, "", "", ())),
        (b'{"podUID":"\\ud83d\\ude00"}', RefitRequest("😀", "", "", "", 0, "", "", ())),
        (b'{"podUID":"\xff"}', RefitRequest("\ufffd", "", "", "", 0, "", "", ())),
        (b'{"podUID":"\\u0000"}', RefitRequest("\0", "", "", "", 0, "", "", ())),
    ],
)
def test_what_is_missing_or_odd_is_read_as_go_reads_it(sent: bytes, expected: RefitRequest) -> None:
    assert read_request(sent) == expected


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"", "the body is empty; send the request as one JSON object"),
        (b" \r\n\t", "the body is empty; send the request as one JSON object"),
        (b"podUID=1", "the body is no JSON: Expecting value at character 0"),
        (b"\xef\xbb\xbf{}", "the body is no JSON: Expecting value at character 0"),
        (b'{"podUID":"u"', "the body is no JSON: Expecting ',' delimiter at character 13"),
        (b'{"podUID":"\0"}', "the body is no JSON: Invalid control character at at character 11"),
        (b"[]", "the body is a list; send the request as one JSON object"),
        (b'"x"', "the body is text; send the request as one JSON object"),
        (b"1", "the body is the number 1; send the request as one JSON object"),
        (b"true", "the body is true; send the request as one JSON object"),
        (b'{"podUID":1}', "podUID is the number 1; it must be text"),
        (b'{"podUID":{}}', "podUID is an object; it must be text"),
        (b'{"containerIndex":"0"}', "containerIndex is text; it must be a whole number"),
        (b'{"containerIndex":true}', "containerIndex is true; it must be a whole number"),
        (b'{"containerIndex":1.5}', "containerIndex is the number 1.5; it must be a whole number"),
        (b'{"containerIndex":1.0}', "containerIndex is the number 1.0; it must be a whole number"),
        (b'{"containerIndex":1e400}', "containerIndex is the number inf; it must be a whole number"),
        (
            b'{"containerIndex":9223372036854775808}',
            "containerIndex is the number 9223372036854775808; it must be a whole number",
        ),
        (b'{"containerIndex":1%s}' % (b"0" * 30), "containerIndex is a huge number; it must be a whole number"),
        (b'{"allowedDeviceUUIDs":"a"}', "allowedDeviceUUIDs is text; it must be a list of UUIDs"),
        (b'{"allowedDeviceUUIDs":["a",1]}', "allowedDeviceUUIDs holds the number 1; it must be a list of UUIDs"),
        (b'{"x":' + b"[" * 100_000, "the body is nested too deeply; send the request as one JSON object"),
        (b'{"x":' * 100_000, "the body is nested too deeply; send the request as one JSON object"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_was_seen(sent: bytes, reason: str) -> None:
    with pytest.raises(MalformedRefitError) as error:
        read_request(sent)
    assert str(error.value) == reason


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "9" * 5000])
def test_numbers_that_are_none_or_too_long_are_refused(constant: str) -> None:
    with pytest.raises(MalformedRefitError, match="the body is no JSON"):
        read_request(f'{{"containerIndex":{constant}}}'.encode())


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(list(GOOD)) | st.text(), inner, max_size=8)
    ),
    max_leaves=20,
)


@given(JSON_LIKE, st.binary(max_size=4), st.integers(0, 40))
def test_any_bytes_are_read_or_refused(value: object, noise: bytes, at: int) -> None:
    sent = json.dumps(value).encode()
    for one in (sent, sent[:at] + noise + sent[at:], sent[:at]):
        try:
            request = read_request(one)
        except MalformedRefitError:
            continue
        assert isinstance(request.container_index, int)
        assert failed("code", request.pod_uid + request.node_name).decode()


def test_answers_are_compact_json_as_hami_writes_them() -> None:
    assert succeeded("GPU-b,NVIDIA,20000,30:") == b'{"succeeded":true,"containerDevices":"GPU-b,NVIDIA,20000,30:"}'
    assert failed("refit-no-fit", "why") == b'{"succeeded":false,"failureReason":"refit-no-fit: why"}'
