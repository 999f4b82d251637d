package main

import (
	"maps"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
)

// touched remembers how each gate that a question has set stood before; gates are global to the process.
var touched = map[string]bool{}

// setGates opens the gates that a configuration names, and sets all others as the release has them.
func setGates(config configuration) error {
	wanted := maps.Clone(touched)
	wanted[string(features.PodLevelResourceManagers)] = config.PodLevelResourceManagers
	for _, option := range []string{cpumanager.AlignBySocketOption, cpumanager.DistributeCPUsAcrossCoresOption} {
		if _, named := config.CPUManagerPolicyOptions[option]; named {
			wanted[string(features.CPUManagerPolicyAlphaOptions)] = true
		}
	}
	maps.Copy(wanted, config.FeatureGates)
	known := utilfeature.DefaultMutableFeatureGate.GetAll()
	for name := range wanted {
		gate := featuregate.Feature(name)
		if _, remembered := touched[name]; !remembered && known[gate].PreRelease != "" {
			touched[name] = utilfeature.DefaultFeatureGate.Enabled(gate)
		}
	}
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(wanted)
}
