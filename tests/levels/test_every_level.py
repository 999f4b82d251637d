"""Whatever stands in a policy file, every level is what a plain walk over it finds."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policy.admission.finding import Level
from policy.admission.table import BY_CODE
from tests.levels.asking import NOW
from webhook.levels.document import Document
from webhook.levels.file import LevelsFile

ENFORCE, WARN, AUDIT, OFF = Level


CODES = ("pin-blank", "privileged-gpu", "request-exceeds-every-node", "forged-reservation")
LABELS = st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from(["1", "2"]))
NAMES = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=2)
WORDS = st.sampled_from(["enforce", "warn", "audit", "off"])


def some_levels(codes: tuple[str, ...]) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(st.sampled_from(codes), WORDS, max_size=3)


def entry(*, named: bool, out: bool) -> st.SearchStrategy[dict[str, Any]]:
    codes = CODES[3:] if out else CODES[: 4 if named else 3]
    return st.fixed_dictionaries(
        {"levels": some_levels(codes) if codes != CODES[3:] or named else st.just({})}
        | ({"names": NAMES} if named else {"selector": st.fixed_dictionaries({"matchLabels": LABELS})})
        | ({"optOut": st.just(True)} if out else {}),
        optional={} if out else {"optOut": st.just(False), "defaultAlignment": st.sampled_from(["strict", "none"])},
    )


ENTRIES = st.lists(
    st.one_of([entry(named=named, out=out) for named in (True, False) for out in (True, False)]), max_size=4
)
EXEMPT = st.lists(
    st.fixed_dictionaries(
        {
            "codes": st.lists(st.sampled_from(CODES), min_size=1, max_size=2),
            "namespaces": NAMES,
            "selector": st.fixed_dictionaries({"matchLabels": LABELS}),
            "level": st.sampled_from(["warn", "audit", "off"]),
            "owner": st.just("o"),
            "reason": st.just("r"),
            "expires": st.sampled_from(["2026-11-30", "2026-12-01"]),
        }
    ),
    max_size=3,
)


def naive(file: dict[str, Any], code: str, namespace: str, labels: dict[str, str], pod: dict[str, str]) -> str:
    """The level of one code, found by walking the file as docs/levels.md tells it."""

    def matches(selector: dict[str, Any], seen: dict[str, str]) -> bool:
        return all(seen.get(key) == value for key, value in selector.get("matchLabels", {}).items())

    found = file["levels"].get(code) or BY_CODE[code].level or ("enforce" if file["staticCluster"] else "warn")
    out = False
    for each in file["namespaces"]:
        if namespace in each.get("names", [namespace]) and matches(each.get("selector", {}), labels):
            found = each["levels"].get(code, found)
            out = each.get("optOut", out)
    if out and code != "forged-reservation":
        found = "off"
    scale = ["off", "audit", "warn", "enforce"]
    for each in file["exemptions"]:
        counts = each["expires"] == "2026-12-01" and namespace in each["namespaces"]
        if counts and code in each["codes"] and matches(each["selector"], pod):
            found = scale[min(scale.index(found), scale.index(each["level"]))]
    return str(found)


@settings(max_examples=100, deadline=None)
@given(some_levels(CODES), st.booleans(), ENTRIES, EXEMPT, LABELS, LABELS)
def test_every_level_is_what_a_walk_over_the_file_finds(
    levels: dict[str, str],
    static: bool,
    entries: list[dict[str, Any]],
    exemptions: list[dict[str, Any]],
    labels: dict[str, str],
    pod_labels: dict[str, str],
) -> None:
    written = {
        "version": "numafit.io/v1",
        "levels": levels,
        "staticCluster": static,
        "namespaces": entries,
        "exemptions": exemptions,
    }
    file = LevelsFile(Document.model_validate(written))
    for namespace in ("a", "b", "c"):
        by_code = file.levels(namespace, labels, pod_labels, NOW).by_code
        assert {code: by_code[code] for code in CODES} == {
            code: naive(written, code, namespace, labels, pod_labels) for code in CODES
        }
