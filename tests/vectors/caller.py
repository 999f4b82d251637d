"""Answers for the vectors about the refit's caller."""

from typing import Any, Final

from tests.vectors.runner import Answer, Vector
from webhook.caller import CallerPod, TokenReviewed, bearer, check_review


def _authenticate(vector: Vector) -> object:
    given: dict[str, Any] = vector.input
    review = given["tokenReview"]
    pod = given["callerPodInDevicePluginNamespace"]
    refused = check_review(
        given["token"],
        TokenReviewed(review["authenticated"], review["username"], review["extra"]),
        None if pod is None else CallerPod(pod["uid"], pod["node"]),
        given["requestNode"],
        given["expectedServiceAccount"],
    )
    return "ok" if refused is None else {"reason_class": "auth_failed"}


ANSWERS: Final[dict[str, Answer]] = {
    "refit.auth": _authenticate,
    "refit.bearer": lambda vector: bearer(vector.input),
}
