"""Makes the demo's cluster from the recorded one: `python -m tests.cluster.demo_cluster`."""

from tests.cluster.test_recorded_cluster import DEMO, RECORDED
from webhook.cluster.file import FileCluster
from webhook.cluster.snapshot import encode, snapshot

if __name__ == "__main__":
    recorded = FileCluster.load([RECORDED])
    DEMO.write_bytes(encode(snapshot(recorded.objects(), recorded.facts().taken_at, redact=True)))
