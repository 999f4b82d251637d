"""Policy files, good and bad, as people write them. The reader and the schema are held to the same tables."""

from typing import NamedTuple

HEAD = "version: numafit.io/v1\n"


class Bad(NamedTuple):
    """A file that is refused: what it says after its first line, the lines of the refusal, and who can tell."""

    name: str
    text: str
    lines: tuple[str, ...]
    schema_refuses: bool = True


GOOD = {
    "nothing said": HEAD,
    "json": '{"version": "numafit.io/v1", "levels": {"pin-blank": "off"}}',
    "off without quotes": HEAD + "levels: {pin-blank: off, pin-duplicate: 'off'}\n",
    "every namespace": HEAD + "namespaces: [{selector: {}, defaultAlignment: strict}]\n",
    "an empty mapping and empty lists": HEAD + "levels: {}\nnamespaces: []\nexemptions: []\nnodes: []\nhami: {}\n",
    "opted out but for one rule": HEAD
    + "namespaces: [{names: [a], optOut: true, levels: {forged-reservation: warn}}]\n",
    "a time with a zone": HEAD
    + "exemptions: [{codes: [pin-blank], selector: {}, owner: o, reason: r, expires: 2027-01-15T18:00:00.5+01:00}]\n",
    "label without a value": HEAD + "nodes: [{selector: {matchLabels: {example.com/gpu: ''}}}]\n",
    "a longest duration": HEAD + "factsMaxAge: 23h59m60s\n",
    "aliases": HEAD + "namespaces:\n- names: [a]\n  levels: &l {pin-blank: audit}\n- names: [b]\n  levels: *l\n",
    "no scheduler to hand pods to": HEAD + "hami: {schedulerName: '', gpuSchedulerPolicy: 'binpack,numa'}\n",
}

WHO = "owner: o, reason: r, expires: 2027-01-01"

BAD = (
    Bad(
        "unknown key of the file",
        "levles: {}",
        ("levles is no key of the policy file; did you mean levels?",),
    ),
    Bad(
        "unknown key like none",
        "nodes: [{selector: {matchFields: []}}]",
        ("nodes[0].selector.matchFields is no key of the policy file; did you mean matchLabels?",),
    ),
    Bad(
        "unknown key in an entry",
        "namespaces: [{names: [a]}, {names: [b]}, {names: [c], levles: {}}]",
        ("namespaces[2].levles is no key of the policy file; did you mean levels?",),
    ),
    Bad(
        "unknown key of HAMi",
        "hami: {gpuCorePolice: force}",
        ("hami.gpuCorePolice is no key of the policy file; did you mean gpuCorePolicy?",),
    ),
    Bad(
        "unknown code",
        "levels: {pin-blnk: warn}",
        ("levels.pin-blnk: no rule has this code; did you mean pin-blank?",),
    ),
    Bad(
        "unknown code like none",
        "levels: {xyzzy: warn}",
        ("levels.xyzzy: no rule has this code; `numafit codes` lists all",),
    ),
    Bad(
        "unknown code in an exemption",
        f"exemptions: [{{codes: [pin-blank, pin-dupe], namespaces: [a], {WHO}}}]",
        ("exemptions[0].codes[1] is 'pin-dupe'; no rule has this code; did you mean pin-duplicate?",),
    ),
    Bad(
        "a level that is none",
        "levels: {pin-blank: enforced, pin-duplicate: on}",
        (
            "levels.pin-blank is 'enforced'; write 'enforce', 'warn', 'audit' or 'off'",
            "levels.pin-duplicate is true; write 'enforce', 'warn', 'audit' or 'off'",
        ),
    ),
    Bad(
        "an exemption that raises",
        f"exemptions: [{{codes: [pin-blank], namespaces: [a], level: enforce, {WHO}}}]",
        ("exemptions[0].level is 'enforce'; an exemption only lowers; write warn, audit or off",),
    ),
    Bad("text for true", "staticCluster: 'true'", ("staticCluster is 'true'; write true or false",)),
    Bad("a number for true", "refitEnabled: 1", ("refitEnabled is 1; write true or false",)),
    Bad("a key without a value", "levels:", ("levels is null; write a value, or remove the key",)),
    Bad(
        "an optional key without a value",
        "namespaces: [{names: [a], optOut: }]",
        ("namespaces[0].optOut is null; write a value, or remove the key",),
    ),
    Bad("a list for a mapping", "hami: []", ("hami is an empty list; write a mapping",)),
    Bad("text for a list", "writers: somebody", ("writers is 'somebody'; write a list",)),
    Bad("an empty list", "writers: []", ("writers is an empty list; write at least one item",)),
    Bad("a mapping for a list", "nodes: {a: b}", ("nodes is a mapping; write a list",)),
    Bad("a blank writer", "writers: [' ']", ("writers[0] is ' '; write some text",)),
    Bad(
        "a duration without a unit",
        "factsMaxAge: 30",
        ("factsMaxAge is 30; write a duration such as 30s, 5m or 1h30m",),
    ),
    Bad("no duration", "factsMaxAge: 5 min", ("factsMaxAge is '5 min'; write a duration such as 30s, 5m or 1h30m",)),
    Bad("no time at all", "factsMaxAge: 0s", ("factsMaxAge is '0s'; write at least 1s and at most 24h",), False),
    Bad("more than a day", "factsMaxAge: 24h1s", ("factsMaxAge is '24h1s'; write at least 1s and at most 24h",), False),
    Bad("an order that is none", "order: HAMi", ("order is 'HAMi'; write 'numafit' or 'hami'",)),
    Bad("too many cores", "hami: {defaultCores: 101}", ("hami.defaultCores is 101; write 100 or less",)),
    Bad("negative memory", "hami: {defaultMemory: -1}", ("hami.defaultMemory is -1; write 0 or more",)),
    Bad("half a GPU", "hami: {defaultGPUNum: 0.5}", ("hami.defaultGPUNum is 0.5; write a whole number",)),
    Bad("a factor of nothing", "hami: {memoryFactor: 0}", ("hami.memoryFactor is 0; write 1 or more",)),
    Bad(
        "no resource name",
        "hami: {resourceCountName: nvidia gpu}",
        ("hami.resourceCountName is 'nvidia gpu'; write a name as Kubernetes writes it, such as `example.com/name`",),
    ),
    Bad(
        "one name for two resources",
        "hami: {resourceCountName: nvidia.com/gpumem}",
        ("hami: two resources are named nvidia.com/gpumem; give each its own",),
        False,
    ),
    Bad(
        "a policy that HAMi does not know",
        "hami: {gpuSchedulerPolicy: fast}",
        ("hami.gpuSchedulerPolicy is 'fast'; write a comma list of binpack, spread, numa, mutex, topology-aware",),
        False,
    ),
    Bad(
        "an entry for no namespace",
        "namespaces: [{optOut: true}]",
        (
            (
                "namespaces[0]: names and selector are missing; say which namespaces are meant, all of them by "
                "`selector: {}`"
            ),
        ),
    ),
    Bad(
        "a pattern for a name",
        "namespaces: [{names: [team-*, 3]}]",
        (
            "namespaces[0].names[0] is 'team-*'; write a namespace's whole name: lower-case letters, digits and `-`",
            "namespaces[0].names[1] is 3; write text, in quotes where YAML would read something else",
        ),
    ),
    Bad(
        "an opt-out with rules",
        "namespaces: [{names: [a], optOut: true, levels: {pin-blank: warn}}]",
        ("namespaces[0]: optOut leaves forged-reservation alone; remove it, or defaultAlignment and the other levels",),
    ),
    Bad(
        "an opt-out with a mode",
        "namespaces: [{names: [a], optOut: true, defaultAlignment: strict}]",
        ("namespaces[0]: optOut leaves forged-reservation alone; remove it, or defaultAlignment and the other levels",),
    ),
    Bad(
        "ownership by a namespace's labels",
        "namespaces: [{selector: {matchLabels: {a: b}}, levels: {forged-reservation: off}}]",
        (
            (
                "namespaces[0]: levels has forged-reservation without names; labels can be set by others, so name the "
                "namespaces"
            ),
        ),
    ),
    Bad(
        "ownership by a pod's labels",
        f"exemptions: [{{codes: [pin-blank, forged-reservation], selector: {{matchLabels: {{a: b}}}}, {WHO}}}]",
        (
            (
                "exemptions[0]: codes has forged-reservation without namespaces; who makes a pod sets its labels, so "
                "name namespaces"
            ),
        ),
    ),
    Bad(
        "an exemption for everybody",
        f"exemptions: [{{codes: [pin-blank], {WHO}}}]",
        ("exemptions[0]: namespaces and selector are missing; say which pods are meant",),
    ),
    Bad(
        "an exemption that nobody answers for",
        "exemptions: [{codes: [pin-blank], namespaces: [a]}]",
        (
            "exemptions[0].owner is missing: who answers for it",
            "exemptions[0].reason is missing: why it is needed",
            "exemptions[0].expires is missing: date that is the last day, in UTC, or time with a zone",
        ),
    ),
    Bad(
        "a date that does not exist",
        "exemptions: [{codes: [pin-blank], namespaces: [a], owner: o, reason: r, expires: 2027-02-29}]",
        ("exemptions[0].expires is '2027-02-29'; no calendar has this moment; write an existing one",),
        False,
    ),
    Bad(
        "a time without a zone",
        "exemptions: [{codes: [pin-blank], namespaces: [a], owner: o, reason: r, expires: 2027-01-01T12:00:00}]",
        (
            (
                "exemptions[0].expires is '2027-01-01T12:00:00'; write a date such as 2027-03-31, or a time such as "
                "2027-03-31T18:00:00Z"
            ),
        ),
    ),
    Bad(
        "a label value that is no text",
        "nodes: [{selector: {matchLabels: {gpu: true}}}]",
        ("nodes[0].selector.matchLabels.gpu is true; write text, in quotes where YAML would read something else",),
    ),
    Bad(
        "labels that no node can have",
        "nodes: [{selector: {matchLabels: {'a b': 'c d'}}}]",
        (
            "nodes[0].selector.matchLabels['a b']: write a name as Kubernetes writes it, such as `example.com/name`",
            "nodes[0].selector.matchLabels['a b'] is 'c d'; write a label's value: letters, digits, `-`, `_` and `.`",
        ),
    ),
    Bad(
        "In without values",
        "namespaces: [{selector: {matchExpressions: [{key: a, operator: In}]}}]",
        ("namespaces[0].selector.matchExpressions[0]: operator In needs values; list at least one",),
    ),
    Bad(
        "Exists with values",
        "namespaces: [{selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}]",
        ("namespaces[0].selector.matchExpressions[0]: operator Exists takes no values; remove them",),
    ),
    Bad(
        "a node's selector with expressions",
        "nodes: [{selector: {matchExpressions: []}}]",
        ("nodes[0].selector.matchExpressions is no key of the policy file; known here are matchLabels",),
    ),
    Bad(
        "a policy that kubelet does not know",
        "nodes: [{selector: {}, topologyPolicy: strict}]",
        ("nodes[0].topologyPolicy is 'strict'; write 'none', 'best-effort', 'restricted' or 'single-numa-node'",),
    ),
    Bad(
        "several mistakes",
        "order: x\nlevels: {pin-blank: y}\nnodes: [{}]\nsaticCluster: true",
        (
            "levels.pin-blank is 'y'; write 'enforce', 'warn', 'audit' or 'off'",
            "order is 'x'; write 'numafit' or 'hami'",
            "nodes[0].selector is missing: labels of nodes",
            "saticCluster is no key of the policy file; did you mean staticCluster?",
        ),
    ),
)
