package main

import (
	"fmt"
	"maps"
	"slices"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/utils/cpuset"
)

// reservedPerNode is what the memory manager must see reserved on each NUMA node, or it does not start; it is no part
// of the amounts of a question, which are allocatable ones.
const reservedPerNode = 1

// machineInfo says what cAdvisor would have found on the machine.
func (n node) machineInfo() (*cadvisorapi.MachineInfo, error) {
	info := &cadvisorapi.MachineInfo{}
	sockets := map[int]bool{}
	uncore, err := n.uncoreOfCPU()
	if err != nil {
		return nil, err
	}
	for _, id := range n.NUMA {
		found := cadvisorapi.Node{Id: id, Distances: n.Distances[id], Memory: reservedPerNode}
		for _, amount := range n.Memory[id].Types {
			found.Memory += amount.Allocatable
		}
		if place, hasCPUs := n.CPU[id]; hasCPUs {
			cores, err := n.cores(place, uncore)
			if err != nil {
				return nil, fmt.Errorf("NUMA node %d: %w", id, err)
			}
			found.Cores = cores
			info.NumPhysicalCores += len(cores)
			for _, core := range cores {
				sockets[core.SocketID] = true
				info.NumCores += len(core.Threads)
			}
		}
		info.MemoryCapacity += found.Memory
		info.Topology = append(info.Topology, found)
	}
	info.NumSockets = len(sockets)
	if info.NumCores == 0 {
		info.NumCores = 1 // The CPUs are not told: there is at least the one that kubelet runs on.
	}
	return info, nil
}

// cores pairs the threads of a NUMA node: CPU i and CPU i + count/smt share a core.
func (n node) cores(place cpuNode, uncore map[int]int) ([]cadvisorapi.Core, error) {
	cpus, err := cpuset.Parse(place.CPUs)
	if err != nil {
		return nil, err
	}
	list, threads := cpus.List(), max(n.SMT, 1)
	if len(list)%threads != 0 {
		return nil, fmt.Errorf("%d CPUs cannot be shared out to cores of %d threads", len(list), threads)
	}
	count := len(list) / threads
	cores := make([]cadvisorapi.Core, count)
	for index := range cores {
		core := cadvisorapi.Core{Id: index, SocketID: place.Socket}
		for thread := range threads {
			core.Threads = append(core.Threads, list[index+thread*count])
		}
		if id, known := uncore[core.Threads[0]]; known {
			core.UncoreCaches = []cadvisorapi.Cache{{Id: id, Level: 3, Type: "Unified"}}
		}
		cores[index] = core
	}
	return cores, nil
}

func (n node) uncoreOfCPU() (map[int]int, error) {
	found := map[int]int{}
	for id, text := range n.Uncore {
		cpus, err := cpuset.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("uncore cache %d: %w", id, err)
		}
		for _, cpu := range cpus.UnsortedList() {
			found[cpu] = id
		}
	}
	return found, nil
}

// reservation says which CPUs are reserved, and what kubelet keeps back in all.
func (n node) reservation() (cpuset.CPUSet, v1.ResourceList, error) {
	reserved, err := cpuset.Parse(n.Kubelet.ReservedSystemCPUs)
	if err != nil {
		return reserved, nil, fmt.Errorf("reservedSystemCPUs: %w", err)
	}
	total := v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(int64(reservedPerNode*len(n.NUMA)), resource.BinarySI)}
	if reserved.Size() > 0 {
		total[v1.ResourceCPU] = *resource.NewQuantity(int64(reserved.Size()), resource.DecimalSI)
	} else if n.Kubelet.ReservedCPUs != "" {
		amount, err := resource.ParseQuantity(n.Kubelet.ReservedCPUs)
		if err != nil {
			return reserved, nil, fmt.Errorf("reservedCPUs: %w", err)
		}
		if !amount.IsZero() {
			total[v1.ResourceCPU] = amount
		}
	}
	return reserved, total, nil
}

func (n node) reservedMemory() []kubeletconfig.MemoryReservation {
	var reserved []kubeletconfig.MemoryReservation
	for _, id := range n.NUMA {
		limits := v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(reservedPerNode, resource.BinarySI)}
		reserved = append(reserved, kubeletconfig.MemoryReservation{NumaNode: int32(id), Limits: limits})
	}
	return reserved
}

// memoryState is what the memory manager would remember: how much of which type is free where, and which NUMA nodes
// are used together. The kernel lists every page size on every node, so a node that is not named has amount 0 of each.
func (n node) memoryState() memorystate.NUMANodeMap {
	types := map[v1.ResourceName]bool{v1.ResourceMemory: true}
	for _, memory := range n.Memory {
		for name := range memory.Types {
			types[name] = true
		}
	}
	found := memorystate.NUMANodeMap{}
	for _, id := range n.NUMA {
		memory, named := n.Memory[id]
		state := &memorystate.NUMANodeState{
			NumberOfAssignments: memory.Assignments,
			MemoryMap:           map[v1.ResourceName]*memorystate.MemoryTable{},
			Cells:               memory.Cells,
		}
		if len(state.Cells) == 0 {
			state.Cells = []int{id}
		}
		names := maps.Keys(types)
		if named {
			names = maps.Keys(memory.Types)
		}
		for _, name := range slices.Collect(names) {
			amount := memory.Types[name]
			state.MemoryMap[name] = &memorystate.MemoryTable{
				TotalMemSize: amount.Allocatable,
				Allocatable:  amount.Allocatable,
				Reserved:     amount.Allocatable - amount.Free,
				Free:         amount.Free,
			}
		}
		found[id] = state
	}
	return found
}
