package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// question is one vector: a machine, how its kubelet is set up, and the pods that it is asked to admit in order.
type question struct {
	Node   node  `json:"node"`
	Pod    pod   `json:"pod"`
	Before []pod `json:"before"`
}

type node struct {
	NUMA                      []int               `json:"numa"`
	SMT                       int                 `json:"smt"`
	CPU                       map[int]cpuNode     `json:"cpu"`
	CPUAllocated              string              `json:"cpuAllocated"`
	Uncore                    map[int]string      `json:"uncore"`
	Distances                 map[int][]uint64    `json:"distances"`
	Memory                    map[int]memoryNode  `json:"memory"`
	Devices                   map[string][]device `json:"devices"`
	Existing                  map[string]holding  `json:"existing"`
	PluginPrefers             map[string][]string `json:"pluginPrefers"`
	PluginPreferredAllocation *bool               `json:"pluginPreferredAllocation"`
	PluginFails               map[string]string   `json:"pluginFails"`
	PluginDown                oneOrMany           `json:"pluginDown"`
	Kubelet                   configuration       `json:"kubelet"`
}

type cpuNode struct {
	Socket int    `json:"socket"`
	CPUs   string `json:"cpus"`
}

type memoryNode struct {
	Types       map[v1.ResourceName]amount `json:"types"`
	Assignments int                        `json:"assignments"`
	Cells       []int                      `json:"cells"`
}

type amount struct {
	Allocatable uint64 `json:"allocatable"`
	Free        uint64 `json:"free"`
}

type device struct {
	ID            string          `json:"id"`
	NUMA          []int           `json:"numa"`
	Healthy       *bool           `json:"healthy"`
	InUse         json.RawMessage `json:"in_use"`
	Replicas      int             `json:"replicas"`
	EmptyTopology bool            `json:"emptyTopology"`
}

type holding struct {
	CPUs    string              `json:"cpus"`
	Devices map[string][]string `json:"devices"`
}

type configuration struct {
	TopologyManagerPolicy        string            `json:"topologyManagerPolicy"`
	TopologyManagerScope         string            `json:"topologyManagerScope"`
	TopologyManagerPolicyOptions map[string]string `json:"topologyManagerPolicyOptions"`
	CPUManagerPolicy             string            `json:"cpuManagerPolicy"`
	CPUManagerPolicyOptions      map[string]string `json:"cpuManagerPolicyOptions"`
	MemoryManagerPolicy          string            `json:"memoryManagerPolicy"`
	ReservedSystemCPUs           string            `json:"reservedSystemCPUs"`
	ReservedCPUs                 string            `json:"reservedCPUs"`
	FeatureGates                 map[string]bool   `json:"featureGates"`
	PodLevelResourceManagers     bool              `json:"PodLevelResourceManagers"`
	// DeviceHintDomain tells releases apart; the one that is compiled in always answers "device_nodes".
	DeviceHintDomain string `json:"deviceHintDomain"`
}

type pod struct {
	InitContainers []container              `json:"initContainers"`
	Containers     []container              `json:"containers"`
	Resources      *v1.ResourceRequirements `json:"resources"`
}

type container struct {
	Name          string                     `json:"name"`
	RestartPolicy *v1.ContainerRestartPolicy `json:"restartPolicy"`
	Limits        v1.ResourceList            `json:"limits"`
	Requests      v1.ResourceList            `json:"requests"`
}

// oneOrMany is a list of names, or one name alone.
type oneOrMany []string

func (names *oneOrMany) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*names = oneOrMany{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(names))
}

func (d device) isHealthy() bool { return d.Healthy == nil || *d.Healthy }

// ids lists what the plugin advertises: the device itself, or each of its replicas.
func (d device) ids() []string {
	if d.Replicas == 0 {
		return []string{d.ID}
	}
	ids := make([]string, d.Replicas)
	for index := range ids {
		ids[index] = d.ID + "-" + strconv.Itoa(index)
	}
	return ids
}

// idsInUse lists the ids that other pods hold: all of them (true), none, or the replicas with the given indexes.
func (d device) idsInUse() ([]string, error) {
	if len(d.InUse) == 0 {
		return nil, nil
	}
	var all bool
	if json.Unmarshal(d.InUse, &all) == nil {
		if all {
			return d.ids(), nil
		}
		return nil, nil
	}
	var indexes []int
	if err := json.Unmarshal(d.InUse, &indexes); err != nil {
		return nil, fmt.Errorf("in_use of device %s is %s; a boolean or a list of replica indexes is allowed", d.ID, d.InUse)
	}
	var held []string
	for _, index := range indexes {
		if index < 0 || index >= d.Replicas {
			return nil, fmt.Errorf("in_use of device %s names replica %d of %d", d.ID, index, d.Replicas)
		}
		held = append(held, d.ids()[index])
	}
	return held, nil
}

// UnmarshalJSON fills in what a kubelet's configuration has where nothing is said.
func (c *configuration) UnmarshalJSON(text []byte) error {
	type plain configuration
	filled := plain{
		TopologyManagerPolicy: "none",
		TopologyManagerScope:  "container",
		CPUManagerPolicy:      "none",
		MemoryManagerPolicy:   "None",
	}
	if err := json.Unmarshal(text, &filled); err != nil {
		return err
	}
	*c = configuration(filled)
	return nil
}
