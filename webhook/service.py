"""Puts the server together, in the worker process: cluster, policy file, certificates, operations, checks."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from certs.context import ServingContext
from certs.material import CertificateError
from certs.names import service_names
from certs.store import DirectoryStore
from policy.placement.refit import RefitRequest
from webhook.app import Operation
from webhook.caller import TokenFile, Unauthenticated
from webhook.cluster.file import FileCluster
from webhook.cluster.interface import ClusterError, RejectedObjectError
from webhook.extender import Bind, Filter
from webhook.levels.reading import LevelsError
from webhook.levels.source import LevelsSource
from webhook.metrics import Metrics
from webhook.ops import Check
from webhook.refit import Refit, Rules
from webhook.review import Admission
from webhook.server import Service, StartupError, UnusableInputError
from webhook.settings import Settings

TICK_SECONDS: Final = 1.0
"""How often files are looked at and gauges are set."""

_log = logging.getLogger(__name__)

Authenticate = Callable[[str, RefitRequest], Unauthenticated | None]


def build(settings: Settings, metrics: Metrics) -> Service:
    """Make everything that is served.

    Raises:
        UnusableInputError: policy file or cluster cannot be read, or a setting asks for what cannot be served (yet).
        StartupError: the directory of certificates is not good.
    """
    if settings.authority == "hami":
        raise UnusableInputError(
            "authority is hami, which relays to HAMi's scheduler and needs a live cluster; use self"
        )
    try:
        levels = LevelsSource(settings.levels_file, settings.authority)
        judging = levels.current
        cluster = FileCluster.load(settings.cluster_files, config=judging.operator.hami, declared=judging.declared)
        names = service_names(settings.tls.service_name, settings.tls.namespace, settings.tls.extra_dns_names)
        store = DirectoryStore(settings.tls.directory, names)
        context = ServingContext(store, datetime.now(UTC), settings.tls.publish)
    except CertificateError as error:
        raise StartupError(str(error)) from None
    except (LevelsError, ClusterError, ValueError) as error:
        raise UnusableInputError(str(error)) from None
    for problem in (*_left_out(settings), *(f"cluster: {problem}" for problem in cluster.problems())):
        _log.warning("%s", problem)
    caller, caller_check = _caller(settings)
    _Watch(levels, cluster, context, metrics).start()
    checks: dict[str, Check] = {"certificate": lambda: _expired(context)}
    notes: dict[str, Check] = {
        "settings": lambda: "\n".join(_left_out(settings)),
        "refit-caller": lambda: caller_check() or "",
        "levels": lambda: "\n".join(levels.notes()),
        "cluster": lambda: "\n".join(cluster.problems()),
        "certificate": lambda: context.problem,
    }
    return Service(_operations(settings, cluster, levels, caller, metrics), checks, context.current, notes)


def _left_out(settings: Settings) -> Iterator[str]:
    """What the server cannot do for want of a setting, so that nobody looks for the reason elsewhere."""
    if not settings.cluster_files:
        yield "no cluster file is given: nothing is judged that depends on nodes, and no pod can be refitted"
    if settings.refit_token_file is None:
        yield "no refit token file is given: every call of /refit is refused with caller-not-configured"


def _operations(
    settings: Settings, cluster: FileCluster, levels: LevelsSource, caller: Authenticate, metrics: Metrics
) -> Mapping[str, Operation]:
    def rules() -> Rules:
        return Rules(levels.current.operator.hami, levels.current.order)

    limits = settings.limits
    operations: dict[str, Operation] = {
        "/webhook": Admission(cluster, lambda: levels.current, metrics.finding, limits.webhook_bytes),
        "/refit": Refit(cluster, rules, caller, metrics.refit, limits.refit_bytes),
    }
    if settings.extender:
        operations["/filter"] = Filter(cluster, rules, take_in=lambda pod: take_in(cluster, pod))
        operations["/bind"] = Bind(cluster, rules)
    return operations


def take_in(cluster: FileCluster, pod: Mapping[str, Any]) -> None:
    """Add a pod that the scheduler brings, for a file only knows what it was told.

    It is a pod whatever it calls itself, and nothing happens where another call was first.
    """
    with suppress(RejectedObjectError):
        cluster.create({**pod, "apiVersion": "v1", "kind": "Pod"})


def _caller(settings: Settings) -> tuple[Authenticate, Check]:
    """How callers of the refit are told apart, and what the readiness page says of that."""
    path = settings.refit_token_file
    if path is None:
        reason = "caller authentication: no token is configured; set refit_token_file"
        return (lambda _token, _request: Unauthenticated("caller-not-configured", reason)), lambda: None
    tokens = TokenFile(path)
    return (lambda token, _request: tokens.check(token)), tokens.problem


def _expired(context: ServingContext) -> str | None:
    """The one fault of a certificate that keeps the server from being of use; others are told by metric and log."""
    if time.time() < context.expires_at:
        return None
    return context.problem or "the served certificate has expired"


class _Watch:
    """Looks at files once a second, takes over what is good, and sets the gauges that say what is not."""

    def __init__(self, levels: LevelsSource, cluster: FileCluster, context: ServingContext, metrics: Metrics) -> None:
        self._levels = levels
        self._cluster = cluster
        self._context = context
        self._metrics = metrics
        self._certificate_problem = ""
        self._serial = context.serial

    def start(self) -> None:
        """Look once, then again and again in a thread that does not keep the process alive."""
        self._metrics.facts_age_from(self._facts_age)
        self._look()
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(TICK_SECONDS)
            try:
                self._look()
            except Exception:  # noqa: BLE001 - whatever it is, the next look may go well
                _log.exception("looking at files failed; the last good ones stay in force")

    def _look(self) -> None:
        if self._levels.refresh():
            judging = self._levels.current
            self._cluster.declare(judging.declared, judging.operator.hami)
        self._metrics.levels_problem.set(bool(self._levels.problem))
        self._metrics.exemptions_expired.set(len(self._levels.current.expired(time.time())))
        self._context.refresh(datetime.now(UTC))
        self._metrics.certificate_expiry.set(self._context.expires_at)
        self._metrics.certificate_problem.set(bool(self._context.problem))
        if self._context.serial != self._serial:
            self._serial = self._context.serial
            _log.info("certificate: another one is served now, serial %s", self._serial)
        if self._context.problem != self._certificate_problem:
            self._certificate_problem = self._context.problem
            _log.warning("certificate: %s", self._certificate_problem or "all is well again")

    def _facts_age(self) -> float:
        taken_at = self._cluster.facts().taken_at
        return 0.0 if taken_at is None else max(0.0, time.time() - taken_at)
