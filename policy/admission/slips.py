"""Rules about slips of the pen: keys and amounts in a place where nobody reads them."""

from functools import lru_cache
from typing import Final

from policy import keys
from policy.admission.case import Case
from policy.admission.spelling import quoted

_PREFIXES: Final = frozenset({"hami.io", "nvidia.com", ""})
_KNOWN: Final = frozenset(keys.USER_KEYS)
_SHORT: Final = 4
"""Names up to this length are too near to others for one edit to mean a slip."""

_BY_NAME: Final = {key.partition("/")[2]: key for key in keys.USER_KEYS}


def near_miss_key(case: Case) -> str | None:
    """An annotation's key is one edit or one prefix away from one that HAMi reads."""
    key = min(filter(nearest_key, case.pod.annotations), default=None)
    if key is None:
        return None
    return f"annotation {quoted(key)} is read by nobody; did you mean {nearest_key(key)}?"


@lru_cache(maxsize=4096)
def nearest_key(key: str) -> str:
    """Return the key that ``key`` was probably meant to be, empty if it is known or like none.

    Cached, because a cluster's pods carry the same few keys again and again.
    """
    if key in _KNOWN or keys.is_owned(key):
        return ""
    prefix, _, name = key.rpartition("/")
    if prefix in _PREFIXES and name in _BY_NAME:
        return _BY_NAME[name]
    plain = key.lower().replace("_", "-")
    return next((known for known in keys.USER_KEYS if _is_one_edit(plain, known)), "")


def _is_one_edit(text: str, other: str) -> bool:
    """Tell whether one letter more, less, other, or two neighbours swapped make ``text`` into ``other``."""
    if abs(len(text) - len(other)) > 1:
        return False
    short, long = sorted((text, other), key=len)
    start = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[start:] == long[start + 1 :]
    swapped = long[:start] + long[start : start + 2][::-1] + long[start + 2 :]
    return short[start + 1 :] == long[start + 1 :] or short == swapped


def near_miss_resource(case: Case) -> str | None:
    """A container names a resource that reads like one of HAMi's and is none, so no node offers it."""
    known = case.operator.hami.resources
    meant = {name: nearest_resource(name, known) for name in case.resources.difference(known)}
    if not any(meant.values()):
        return None
    container, resource = next(
        (container, resource)
        for container in case.pod.containers
        for resource in (*container.limits, *container.requests)
        if meant.get(resource)
    )
    said = f"container {quoted(container.name)} asks for {quoted(resource)}, which HAMi does not know"
    return f"{said}; did you mean {meant[resource]}?"


@lru_cache(maxsize=1024)
def nearest_resource(resource: str, known: tuple[str, ...]) -> str:
    """Return the resource among ``known`` that ``resource`` was probably meant to be, empty if it is like none."""
    prefix, slash, name = resource.partition("/")
    if not slash:
        return ""
    plain = _plain(name)
    alike = [one for one in known if one.partition("/")[0] == prefix.lower()]
    return next((one for one in alike if _reads_like(plain, _plain(one.partition("/")[2]))), "")


def _plain(name: str) -> str:
    """A resource's name without case, separators, plural and the longer words for the same thing."""
    letters = "".join(filter(str.isalnum, name.lower())).removeprefix("v").removesuffix("s")
    return letters.replace("memory", "mem").replace("percentage", "percent")


def _reads_like(plain: str, known: str) -> bool:
    return plain == known or (len(known) > _SHORT and _is_one_edit(plain, known))


def amount_as_annotation(case: Case) -> str | None:
    """A GPU resource is written as an annotation, where nobody reads it."""
    for resource in case.operator.hami.resources:
        if resource in case.pod.annotations:
            return f"{resource} is no annotation; write it under a container's resources.limits."
    return None
