"""A cluster held in memory, filled from files of plain Kubernetes objects."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from policy.facts import Facts
from policy.hami.request import HamiConfig
from policy.hami.usage import reserve
from policy.pod import MalformedObjectError, Pod, read_pod
from webhook.cluster.commit import changed, objection
from webhook.cluster.documents import Content, load
from webhook.cluster.events import EventLog, Recorded
from webhook.cluster.interface import (
    Change,
    Committed,
    Conflict,
    Declared,
    Event,
    Expected,
    Outdated,
    RejectedObjectError,
)
from webhook.cluster.moments import moment, newest
from webhook.cluster.objects import kind_of, read_objects, reservation_problem
from webhook.cluster.store import Object, Store


class FileCluster:
    """A cluster in memory behind the same door as a live one. Writers take turns, readers never wait."""

    def __init__(
        self,
        content: Content,
        *,
        config: HamiConfig | None = None,
        declared: Sequence[Declared] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Hold ``content``.

        Args:
            content: the objects, and what their files say of their age.
            config: HAMi's resource names, its defaults if not given.
            declared: what the operator says of kubelets.
            clock: seconds since the epoch, for events.
        """
        self._config = config or HamiConfig()
        self._declared = declared
        self._lock = threading.Lock()
        self._events = EventLog(clock)
        self._store = Store()
        odd = self._store.fill(content.objects)
        self._taken_at, undated = _taken_at(content)
        self._load_problems = (*content.problems, *odd, *undated)
        self._facts = Facts()
        self._read()

    @classmethod
    def load(
        cls,
        paths: Iterable[Path],
        *,
        config: HamiConfig | None = None,
        declared: Sequence[Declared] = (),
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Read ``paths``, JSON or YAML, and hold what they say.

        Raises:
            UnreadableFileError: one of them cannot be read; the text names it and says why.
        """
        return cls(load(paths), config=config, declared=declared, clock=clock)

    def facts(self) -> Facts:
        """What is known now (see `Cluster`)."""
        return self._facts

    def problems(self) -> tuple[str, ...]:
        """What could not be read (see `Cluster`)."""
        states = self._facts.nodes.values()
        held = (reservation_problem(one) for state in states for one in state.reservations.values())
        return (*self._load_problems, *self._read_problems, *filter(None, held))

    def is_stale(self, max_age: float) -> bool:  # noqa: ARG002 - the door asks with it
        """Never: a file is as old as it says, and nobody waits for a newer one."""
        return False

    def declare(self, declared: Sequence[Declared], config: HamiConfig) -> None:
        """Take over what the operator says (see `Cluster`)."""
        with self._lock:
            self._declared, self._config = declared, config
            self._read()

    def pod(self, namespace: str, name: str) -> Pod | None:
        """Read one pod (see `Cluster`)."""
        return self._pods.get(self._store.pod_uid(namespace, name))

    def commit(self, expected: Expected, change: Change) -> Committed | Conflict | Outdated:
        """Write ``change`` if ``expected`` still holds (see `Cluster`)."""
        with self._lock:
            stored = self._store.get(expected.pod.uid)
            known = self._pods.get(expected.pod.uid)
            refused = objection(known, self._facts, expected, change)
            if refused is not None or stored is None:
                return refused or Conflict(f"pod {expected.pod.title} does not exist any more")
            made = changed(stored, change, self._store.next_version())
            pod = read_pod(made)
            self._store.replace(made)
            self._pods[pod.uid] = pod
            self._facts = self._facts.with_reservation(replace(change.reservation, pod=pod))
            return Committed(pod)

    def record(self, event: Event) -> None:
        """Keep an event (see `Cluster`)."""
        self._events.record(event)

    def events(self) -> tuple[Recorded, ...]:
        """The events kept, folded, the one seen last at the end."""
        return self._events.records()

    def close(self) -> None:
        """Nothing is held open."""

    def objects(self) -> tuple[Object, ...]:
        """The plain objects as they are now; they are shared and must not be changed."""
        with self._lock:
            return self._store.objects()

    def create(self, source: Object) -> Object:
        """Add an object; return it with what an API server fills in (namespace, name, UID, resourceVersion).

        Raises:
            RejectedObjectError: its name or UID is taken, or it is a pod without the shape of one.
        """
        return self._write(source, self._store.create)

    def update(self, source: Object) -> Object:
        """Replace an object; return it with its new resourceVersion.

        Raises:
            RejectedObjectError: it does not exist, its UID or resourceVersion is another one by now, or it is a pod
                without the shape of one.
        """
        return self._write(source, self._store.update)

    def delete(self, uid: str) -> None:
        """Remove the object with this UID.

        Raises:
            RejectedObjectError: there is none.
        """
        with self._lock:
            gone = self._store.delete(uid)
            if self._pods.pop(uid, None) is None or kind_of(gone) != "Pod":
                self._read()
            else:
                self._facts = self._facts.without_pod(uid)

    def _write(self, source: Object, write: Callable[[Object], Object]) -> Object:
        is_pod = kind_of(source) == "Pod"
        if is_pod:
            _check_pod(source)
        with self._lock:
            made = write(source)
            if is_pod and not self._read_problems:
                self._take_pod(read_pod(made))
            else:
                self._read()
            return made

    def _take_pod(self, pod: Pod) -> None:
        self._pods[pod.uid] = pod
        held = reserve(pod)
        self._facts = self._facts.without_pod(pod.uid) if held is None else self._facts.with_reservation(held)

    def _read(self) -> None:
        reading = read_objects(self._store.objects(), self._config, self._declared, self._taken_at)
        self._pods = dict(reading.pods)
        self._read_problems = reading.problems
        self._facts = reading.facts


def _check_pod(source: Object) -> None:
    try:
        read_pod(source)
    except MalformedObjectError as error:
        raise RejectedObjectError(str(error)) from None


def _taken_at(content: Content) -> tuple[float | None, list[str]]:
    said = {text: moment(text) for text in content.taken_at}
    problems = [
        f"the file says that it was taken at {text!r}, which is no RFC 3339 time; its newest timestamp counts"
        for text, at in said.items()
        if at is None
    ]
    known = [at for at in said.values() if at is not None]
    return (max(known) if known else newest(content.objects)), problems
