"""The policy file as it is written. docs/levels.md explains it to people, docs/levels.schema.json to programs."""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import ConfigDict, Field, model_validator

from policy.admission.finding import Level
from policy.facts import Kubelet
from webhook.levels.groups import Group, one_of, sound
from webhook.levels.hami import Hami
from webhook.levels.selector import Labels, Selector
from webhook.levels.values import Code, CodeLevels, Duration, Expiry, LowerLevel, Many, Namespace, Prose, Writer

FORGED: Final = "forged-reservation"
"""The one rule that labels alone never switch off: who owns a namespace or a pod can often set its labels."""

WRITERS: Final = (
    *(
        f"system:serviceaccount:{namespace}:{name}"
        for namespace in ("kube-system", "hami-system")
        for name in ("hami-scheduler", "hami-device-plugin", "hami")
    ),
    "system:serviceaccount:numafit:numafit",
)
"""User names under which HAMi and numafit run when their charts are installed as they come."""


class NamespaceEntry(Group):
    """What holds in some namespaces. A later entry wins over an earlier one, key by key and code by code."""

    model_config = ConfigDict(
        json_schema_extra=one_of("names", "selector")
        | {
            "allOf": [
                {
                    "if": {"properties": {"levels": {"required": [FORGED]}}, "required": ["levels"]},
                    "then": {"required": ["names"]},
                },
                {
                    "if": {"properties": {"optOut": {"const": True}}, "required": ["optOut"]},
                    "then": {"properties": {"defaultAlignment": False, "levels": {"propertyNames": {"const": FORGED}}}},
                },
            ]
        }
    )

    names: Many[Namespace] = Field(default=(), min_length=1, description="names of namespaces")
    selector: Selector = Field(default=Selector(), description="labels of namespaces; with names, both must hold")
    levels: CodeLevels = Field(default={}, description="level of rules, by code")
    default_alignment: Literal["best-effort", "strict", "none"] | None = Field(
        default=None, description="`hami.io/numa-alignment` that pods get which say nothing and can profit from it"
    )
    opt_out: bool | None = Field(
        default=None, description="true leaves pods as they are: nothing is filled in, only forged-reservation judged"
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> "NamespaceEntry":
        wrong = []
        if not self.model_fields_set & {"names", "selector"}:
            wrong.append(
                "names and selector are missing; say which namespaces are meant, all of them by `selector: {}`"
            )
        if FORGED in self.levels and not self.names:
            wrong.append(f"levels has {FORGED} without names; labels can be set by others, so name the namespaces")
        if self.opt_out and (self.default_alignment or set(self.levels) - {FORGED}):
            wrong.append(f"optOut leaves {FORGED} alone; remove it, or defaultAlignment and the other levels")
        return sound(self, wrong)

    def means(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Tell whether the namespace is one of those."""
        return (not self.names or namespace in self.names) and self.selector.matches(labels)


class Exemption(Group):
    """Rules that some pods need not follow, for a while."""

    model_config = ConfigDict(
        json_schema_extra=one_of("namespaces", "selector")
        | {
            "if": {"properties": {"codes": {"contains": {"const": FORGED}}}},
            "then": {"required": ["namespaces"]},
        }
    )

    codes: Many[Code] = Field(min_length=1, description="codes of the rules")
    namespaces: Many[Namespace] = Field(default=(), min_length=1, description="names of namespaces")
    selector: Selector = Field(default=Selector(), description="labels of pods; with namespaces, both must hold")
    level: LowerLevel = Field(
        default=Level.OFF, description="the most that follows for these pods; it never raises a level"
    )
    owner: Prose = Field(description="who answers for it")
    reason: Prose = Field(description="why it is needed")
    expires: Expiry = Field(description="date that is the last day, in UTC, or time with a zone")

    @model_validator(mode="after")
    def _makes_sense(self) -> "Exemption":
        wrong = []
        if not self.model_fields_set & {"namespaces", "selector"}:
            wrong.append("namespaces and selector are missing; say which pods are meant")
        if FORGED in self.codes and not self.namespaces:
            wrong.append(f"codes has {FORGED} without namespaces; who makes a pod sets its labels, so name namespaces")
        return sound(self, wrong)

    def means(self, namespace: str, pod_labels: Mapping[str, str]) -> bool:
        """Tell whether the pod is one of those."""
        return (not self.namespaces or namespace in self.namespaces) and self.selector.matches(pod_labels)


class NodeEntry(Group):
    """What the operator knows of the kubelets of some nodes and no object says."""

    selector: Labels = Field(description="labels of nodes")
    topology_policy: Literal["none", "best-effort", "restricted", "single-numa-node"] | None = Field(
        default=None, description="kubelet's topologyManagerPolicy"
    )
    topology_scope: Literal["container", "pod"] | None = Field(
        default=None, description="kubelet's topologyManagerScope"
    )
    advertises_numa: bool | None = Field(
        default=None, description="whether HAMi's device plugin tells kubelet its cards' NUMA nodes"
    )

    @property
    def kubelet(self) -> Kubelet:
        """What is said, as the engine holds it."""
        return Kubelet(self.topology_policy, self.topology_scope, self.advertises_numa)


class Document(Group):
    """The whole file."""

    version: Literal["numafit.io/v1"] = Field(description="version of this format, `numafit.io/v1`")
    levels: CodeLevels = Field(default={}, description="level of rules, by code, where no entry below says otherwise")
    static_cluster: bool = Field(
        default=False, description="true where no nodes are added: what fits no node is refused instead of warned about"
    )
    refit_enabled: bool = Field(default=True, description="whether device plugins ask for refits")
    facts_max_age: Duration = Field(default="2m", description="age from which facts are too old to judge by")
    order: Literal["numafit", "hami"] = Field(
        default="numafit", description="whose order decides between cards that a policy holds equal"
    )
    writers: Many[Writer] = Field(
        default=WRITERS, min_length=1, description="user names that may change scheduler-owned annotations"
    )
    hami: Hami = Field(default=Hami(), description="HAMi's own configuration, under HAMi's names")
    namespaces: Many[NamespaceEntry] = Field(default=(), description="what differs by namespace; later entries win")
    exemptions: Many[Exemption] = Field(default=(), description="what pods need not follow, and until when")
    nodes: Many[NodeEntry] = Field(default=(), description="kubelets' settings by node label; later entries win")
