"""Where numafit answers otherwise than HAMi, each as one rule by the shape of the question.

A rule covers every vector of its shape, also those that nobody has seen yet, and says what numafit promises
there instead, so that it can fail. Shapes and promises stand in the modules `…promises` of their area.
"""

from typing import Final

from tests.vectors import hami_promises, promises, webhook_promises
from tests.vectors.runner import Deviation

DEVIATIONS: Final[tuple[Deviation, ...]] = (
    Deviation(
        name="old-release",
        reason="What only v2.10 does is done as newer releases do it: refused or counted, never cut to 32 bits.",
        decision="docs/decisions.md 2",
        groups=("",),
        applies=lambda vector: vector.versions == "v2.10",
        holds=hami_promises.is_sound,
    ),
    Deviation(
        name="unreadable-never-written",
        reason="A device that no reader could read back is not written: the pod would drop out of HAMi's accounting.",
        decision="docs/decisions.md 2",
        groups=("codec.encode_",),
        applies=hami_promises.cannot_be_read_back,
        holds=hami_promises.is_refused,
    ),
    Deviation(
        name="register-holds-no-card",
        reason="Null, nameless, doubled or negative cards make the value unreadable; null ends HAMi's scheduler.",
        decision="docs/decisions.md 2",
        groups=("register.", "codec.decode_node_legacy"),
        applies=hami_promises.holds_no_card,
        holds=hami_promises.is_refused,
    ),
    Deviation(
        name="register-is-canonical",
        reason="Device plugins write cards in random order: they are sorted, and every negative NUMA node is unknown.",
        decision="docs/decisions.md 4 and 6",
        groups=("register.", "codec.decode_node_legacy"),
        applies=hami_promises.is_not_canonical,
        holds=hami_promises.is_canonical,
    ),
    Deviation(
        name="amount-is-refused",
        reason="Percentages and cores that are not whole or not 0 to 100 are refused wherever they stand, not rounded.",
        decision="docs/decisions.md 2",
        groups=("webhook.mutate_container",),
        applies=hami_promises.names_wrong_amount,
        holds=hami_promises.is_refused,
    ),
    Deviation(
        name="requested-count-stays",
        reason="A count among the requests is the pod's own word: no default count is set beside it.",
        decision="docs/decisions.md 13",
        groups=("webhook.mutate_container",),
        applies=hami_promises.names_count_among_requests_only,
        holds=hami_promises.adds_no_count,
    ),
    Deviation(
        name="variable-once",
        reason="A variable that is there already is not added again, so that a second call adds nothing.",
        decision="docs/decisions.md 13",
        groups=("webhook.mutate_container",),
        applies=hami_promises.has_variables,
        holds=hami_promises.repeats_no_variable,
    ),
    Deviation(
        name="ended-init-is-free",
        reason="A complete value says that only init containers held cards; once they have ended nothing is held.",
        decision="docs/decisions.md 8",
        groups=("accounting.steady",),
        applies=hami_promises.only_ended_init_containers_hold,
        holds=hami_promises.nothing_is_held,
    ),
    Deviation(
        name="numa-node-judged-whole",
        reason="Cards of one container come from a known NUMA node that has enough; a useless card loses none of them.",
        decision="docs/decisions.md 5 and 6",
        groups=("fit.", "refit"),
        applies=promises.binds_several_cards,
        holds=promises.one_known_numa_node_or_none_can,
    ),
    Deviation(
        name="quota-keeps-positions",
        reason="A quota is compared with what the pod holds at one time: each entry in its place, no card twice.",
        decision="docs/decisions.md 8",
        groups=("fit.", "refit"),
        applies=promises.counts_several_entries,
        holds=promises.quota_of_the_pod_as_it_runs,
    ),
    Deviation(
        name="mig-card-not-placed",
        reason="HAMi cuts MIG cards by profile; numafit does not, and takes what it would take without them.",
        decision="policy/placement/fit.py, MIG_MODE",
        groups=("fit.",),
        applies=promises.offers_mig_cards,
        holds=promises.as_if_without_mig_cards,
    ),
    Deviation(
        name="only-gpu-pods-are-judged",
        reason="A misspelt alignment on a pod that asks for no GPU harms nobody: it is allowed with a warning.",
        decision="docs/decisions.md 1",
        groups=("webhook.decision",),
        applies=webhook_promises.misspells_on_a_pod_without_gpus,
        holds=webhook_promises.is_allowed_unchanged,
    ),
    Deviation(
        name="owned-keys-have-listed-writers",
        reason="HAMi protects fewer keys and trusts every service account; numafit trusts the accounts it is told.",
        decision="docs/decisions.md 12",
        groups=("webhook.decision",),
        applies=webhook_promises.writes_owned_keys,
        holds=webhook_promises.only_listed_writers_pass,
    ),
    Deviation(
        name="judged-pods-are-marked",
        reason="A GPU pod that HAMi leaves alone still gets the mark that shows it was judged, and nothing else.",
        decision="docs/admission.md, Defaults",
        groups=("webhook.decision",),
        applies=webhook_promises.leaves_the_pod_as_it_is,
        holds=webhook_promises.only_marks_it,
    ),
)
