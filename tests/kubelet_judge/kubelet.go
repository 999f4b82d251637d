package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
	_ "unsafe" // for go:linkname

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/utils/cpuset"
)

// The exported constructor fixes the folder of the device manager; this is the one that it calls.
//
//go:linkname newDeviceManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newDeviceManager(
	logger klog.Logger, socketPath string, topology []cadvisorapi.Node, store topologymanager.Store,
) (*devicemanager.ManagerImpl, error)

// kubelet is the part of one that admits: the managers of devices, CPUs and memory under the topology manager.
type kubelet struct {
	topology topologymanager.Manager
	devices  *devicemanager.ManagerImpl
	cpus     cpumanager.Manager
	memory   memorymanager.Manager
	plugins  map[string]*plugin
	story    *story

	mutex  sync.Mutex
	active []*v1.Pod
}

// start boots the managers in the order of kubelet's container manager, with their files in the given folder; the
// pods that run already keep what the files say that they hold. An unanswerable question is a badQuestion; any other error is the one with which kubelet itself does not start.
func start(ctx context.Context, n node, running []*v1.Pod, folder string) (*kubelet, error) {
	info, err := n.machineInfo()
	if err != nil {
		return nil, badQuestion{err}
	}
	reserved, reservation, err := n.reservation()
	if err != nil {
		return nil, badQuestion{err}
	}
	if err := setGates(n.Kubelet); err != nil {
		return nil, err
	}
	k := &kubelet{plugins: map[string]*plugin{}, active: running}
	if err := k.construct(n, info, reserved, reservation, folder); err != nil {
		return nil, err
	}
	if err := n.writeFiles(ctx, folder, info, k.cpus); err != nil {
		return nil, badQuestion{err}
	}
	if err := k.run(ctx); err != nil {
		k.stop()
		return nil, err
	}
	if err := k.connectPlugins(ctx, n); err != nil {
		k.stop()
		return nil, badQuestion{err}
	}
	if n.Kubelet.MemoryManagerPolicy == "Static" {
		k.memory.State().(memorystate.State).SetMachineState(n.memoryState())
	}
	return k, nil
}

func (k *kubelet) construct(
	n node, info *cadvisorapi.MachineInfo, reserved cpuset.CPUSet, reservation v1.ResourceList, folder string,
) (err error) {
	config, logger := n.Kubelet, klog.TODO()
	k.topology, err = topologymanager.NewManager(
		info.Topology, config.TopologyManagerPolicy, config.TopologyManagerScope, config.TopologyManagerPolicyOptions)
	if err != nil {
		return err
	}
	k.story = newStory(k.topology, config.TopologyManagerPolicy != topologymanager.PolicyNone)
	socket := filepath.Join(folder, "kubelet.sock")
	if k.devices, err = newDeviceManager(logger, socket, info.Topology, k.topology); err != nil {
		return err
	}
	k.cpus, err = cpumanager.NewManager(logger, config.CPUManagerPolicy, config.CPUManagerPolicyOptions,
		never, info, reserved, reservation, folder, k.topology)
	if err != nil {
		return err
	}
	k.memory, err = memorymanager.NewManager(
		logger, config.MemoryManagerPolicy, info, reservation, n.reservedMemory(), folder, k.topology)
	if err != nil {
		return err
	}
	k.topology.AddHintProvider(logger, &witness{k.devices, k.story, k.sawDevices})
	k.topology.AddHintProvider(logger, &witness{k.cpus, k.story, k.sawCPUs})
	k.topology.AddHintProvider(logger, &witness{k.memory, k.story, k.sawMemory})
	return nil
}

// never is a period so long that reconciliation runs once, at the start.
const never = 1000 * time.Hour

// run starts the managers, which read back what the files say is held.
func (k *kubelet) run(ctx context.Context) error {
	containers := containermap.NewContainerMap()
	if err := k.cpus.Start(ctx, k.activePods, ready{}, unknownStatus{}, nil, containers); err != nil {
		return err
	}
	if err := k.memory.Start(ctx, k.activePods, ready{}, unknownStatus{}, nil, containermap.NewContainerMap()); err != nil {
		return err
	}
	return k.devices.Start(
		klog.TODO(), k.activePods, ready{}, containermap.NewContainerMap(), sets.New[string]())
}

func (k *kubelet) connectPlugins(ctx context.Context, n node) error {
	answers := n.PluginPreferredAllocation == nil || *n.PluginPreferredAllocation
	for _, resource := range slices.Sorted(maps.Keys(n.Devices)) {
		if slices.Contains(n.PluginDown, resource) {
			continue
		}
		p := &plugin{resource: resource, prefers: n.PluginPrefers[resource], answers: answers}
		if err := k.devices.PluginConnected(ctx, resource, p); err != nil {
			return fmt.Errorf("plugin of %s: %w", resource, err)
		}
		list := &deviceplugin.ListAndWatchResponse{Devices: advertised(n.Devices[resource])}
		k.devices.PluginListAndWatchReceiver(klog.TODO(), resource, list)
		k.plugins[resource] = p
	}
	return nil
}

func (k *kubelet) stop() { _ = k.devices.Stop(klog.TODO()) }

func (k *kubelet) activePods() []*v1.Pod {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return slices.Clone(k.active)
}

func (k *kubelet) enter(p *v1.Pod) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.active = append(without(k.active, p), p)
}

func (k *kubelet) leave(p *v1.Pod) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.active = without(k.active, p)
}

func without(pods []*v1.Pod, p *v1.Pod) []*v1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(other *v1.Pod) bool { return other.UID == p.UID })
}

// writeFiles writes what is held into the files that the managers read when they start.
func (n node) writeFiles(
	ctx context.Context, folder string, info *cadvisorapi.MachineInfo, cpus cpumanager.Manager,
) error {
	reserved := cpuset.New()
	strict, _ := strconv.ParseBool(n.Kubelet.CPUManagerPolicyOptions[cpumanager.StrictCPUReservationOption])
	if strict {
		if err := cpus.Start(ctx, noPods, ready{}, unknownStatus{}, nil, containermap.NewContainerMap()); err != nil {
			return nil // The start that follows fails in the same way, and tells.
		}
		reserved = allCPUs(info).Difference(cpus.GetAllocatableCPUs())
	}
	if err := n.writeCPUs(folder, allCPUs(info).Difference(reserved)); err != nil {
		return err
	}
	return n.writeDevices(folder)
}

func noPods() []*v1.Pod { return nil }

func allCPUs(info *cadvisorapi.MachineInfo) cpuset.CPUSet {
	var ids []int
	for _, node := range info.Topology {
		for _, core := range node.Cores {
			ids = append(ids, core.Threads...)
		}
	}
	return cpuset.New(ids...)
}

// ready says that all sources of pods have been seen.
type ready struct{}

func (ready) AddSource(string) {}
func (ready) AllReady() bool   { return true }

// unknownStatus knows of no pod, so nothing is written to a container runtime.
type unknownStatus struct{}

func (unknownStatus) GetPodStatus(types.UID) (v1.PodStatus, bool) { return v1.PodStatus{}, false }
