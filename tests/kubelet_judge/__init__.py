"""kubelet's own code as the judge of the kubelet model: a Go program that boots it, and random cases for both."""
