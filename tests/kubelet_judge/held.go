package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/checkpoint"
	"k8s.io/utils/cpuset"
)

const (
	podUID     = "uid"
	holderUID  = "held"
	holderName = "held"
)

// holder is the running pod that owns what a question says is allocated.
func holder() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: holderName, UID: types.UID(holderUID)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: holderName}}},
	}
}

// writeCPUs writes the file from which the CPU manager learns which of the assignable CPUs are exclusive already.
func (n node) writeCPUs(folder string, assignable cpuset.CPUSet) error {
	held, err := cpuset.Parse(n.CPUAllocated)
	if err != nil {
		return fmt.Errorf("cpuAllocated: %w", err)
	}
	entries, shared := map[string]map[string]string{}, assignable.Difference(held)
	if !held.IsEmpty() {
		entries[holderUID] = map[string]string{holderName: held.String()}
	}
	for name, holding := range n.Existing {
		own, err := cpuset.Parse(holding.CPUs)
		if err != nil {
			return fmt.Errorf("CPUs of existing container %s: %w", name, err)
		}
		if own.IsEmpty() {
			continue
		}
		if entries[podUID] == nil {
			entries[podUID] = map[string]string{}
		}
		entries[podUID][name], shared = own.String(), shared.Difference(own)
	}
	if len(entries) == 0 || n.Kubelet.CPUManagerPolicy != "static" {
		return nil
	}
	return write(folder, "cpu_manager_state", &cpustate.CPUManagerCheckpointV2{
		PolicyName:    n.Kubelet.CPUManagerPolicy,
		DefaultCPUSet: shared.String(),
		Entries:       entries,
	})
}

// writeDevices writes the file from which the device manager learns who holds which device.
func (n node) writeDevices(folder string) error {
	registered := map[string][]string{}
	var entries []checkpoint.PodDevicesEntry
	add := func(uid, name, resource string, ids []string) {
		if len(ids) == 0 {
			return
		}
		entries = append(entries, checkpoint.PodDevicesEntry{
			PodUID: uid, ContainerName: name, ResourceName: resource,
			DeviceIDs: n.perNUMA(resource, ids),
		})
	}
	for resource, devices := range n.Devices {
		registered[resource] = nil
		var held []string
		for _, device := range devices {
			ids, err := device.idsInUse()
			if err != nil {
				return err
			}
			held = append(held, ids...)
		}
		add(holderUID, holderName, resource, held)
	}
	for _, resource := range n.PluginDown {
		registered[resource] = nil
	}
	for name, holding := range n.Existing {
		for resource, ids := range holding.Devices {
			add(podUID, name, resource, ids)
		}
	}
	if len(registered) == 0 && len(entries) == 0 {
		return nil
	}
	return write(folder, "kubelet_internal_checkpoint", checkpoint.New(entries, registered))
}

// perNUMA files ids under each NUMA node that they are attached to, -1 standing for none.
func (n node) perNUMA(resource string, ids []string) checkpoint.DevicesPerNUMA {
	nodes := map[string][]int{}
	for _, device := range n.Devices[resource] {
		for _, id := range device.ids() {
			nodes[id] = device.NUMA
		}
	}
	filed := checkpoint.NewDevicesPerNUMA()
	for _, id := range ids {
		if len(nodes[id]) == 0 {
			filed[-1] = append(filed[-1], id)
		}
		for _, numa := range nodes[id] {
			filed[int64(numa)] = append(filed[int64(numa)], id)
		}
	}
	return filed
}

func write(folder, name string, content checkpointmanager.Checkpoint) error {
	files, err := checkpointmanager.NewCheckpointManager(folder)
	if err != nil {
		return err
	}
	return files.CreateCheckpoint(name, content)
}
