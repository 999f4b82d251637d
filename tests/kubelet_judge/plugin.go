package main

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/util/sets"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

var errPluginRefuses = errors.New("plugin refuses")

// plugin plays a device plugin of one resource, as a client that is already connected.
type plugin struct {
	deviceplugin.DevicePluginClient
	resource string
	prefers  []string
	answers  bool // whether it offers GetPreferredAllocation
	fails    string
	asked    *preferenceCall
}

// preferenceCall is what kubelet asked by GetPreferredAllocation.
type preferenceCall struct {
	Available   []string `json:"available"`
	MustInclude []string `json:"must_include"`
	Size        int      `json:"size"`
}

func (p *plugin) API() deviceplugin.DevicePluginClient { return p }
func (p *plugin) Resource() string                     { return p.resource }
func (p *plugin) SocketPath() string                   { return "" }

func (p *plugin) GetDevicePluginOptions(
	context.Context, *deviceplugin.Empty, ...grpc.CallOption,
) (*deviceplugin.DevicePluginOptions, error) {
	return &deviceplugin.DevicePluginOptions{GetPreferredAllocationAvailable: p.answers}, nil
}

// GetPreferredAllocation answers the devices that must be included, then those preferred, up to the size asked for.
func (p *plugin) GetPreferredAllocation(
	_ context.Context, request *deviceplugin.PreferredAllocationRequest, _ ...grpc.CallOption,
) (*deviceplugin.PreferredAllocationResponse, error) {
	wanted := request.ContainerRequests[0]
	p.asked = &preferenceCall{
		Available:   slices.Sorted(slices.Values(wanted.AvailableDeviceIDs)),
		MustInclude: append([]string{}, slices.Sorted(slices.Values(wanted.MustIncludeDeviceIDs))...),
		Size:        int(wanted.AllocationSize),
	}
	if p.fails == "GetPreferredAllocation" {
		return nil, errPluginRefuses
	}
	available, chosen := sets.New(wanted.AvailableDeviceIDs...), sets.New[string]()
	for _, id := range append(slices.Clone(wanted.MustIncludeDeviceIDs), p.prefers...) {
		if available.Has(id) && chosen.Len() < int(wanted.AllocationSize) {
			chosen.Insert(id)
		}
	}
	if len(p.prefers) == 0 {
		chosen = nil
	}
	answer := &deviceplugin.ContainerPreferredAllocationResponse{DeviceIDs: chosen.UnsortedList()}
	return &deviceplugin.PreferredAllocationResponse{
		ContainerResponses: []*deviceplugin.ContainerPreferredAllocationResponse{answer},
	}, nil
}

func (p *plugin) Allocate(
	context.Context, *deviceplugin.AllocateRequest, ...grpc.CallOption,
) (*deviceplugin.AllocateResponse, error) {
	if p.fails == "Allocate" {
		return nil, errPluginRefuses
	}
	return &deviceplugin.AllocateResponse{ContainerResponses: []*deviceplugin.ContainerAllocateResponse{{}}}, nil
}

// advertised lists the devices as the plugin's ListAndWatch would.
func advertised(devices []device) []*deviceplugin.Device {
	list := []*deviceplugin.Device{}
	for _, device := range devices {
		health := deviceplugin.Unhealthy
		if device.isHealthy() {
			health = deviceplugin.Healthy
		}
		for _, id := range device.ids() {
			list = append(list, &deviceplugin.Device{ID: id, Health: health, Topology: device.topology()})
		}
	}
	return list
}

func (d device) topology() *deviceplugin.TopologyInfo {
	if d.NUMA == nil && !d.EmptyTopology {
		return nil
	}
	info := &deviceplugin.TopologyInfo{}
	for _, id := range d.NUMA {
		info.Nodes = append(info.Nodes, &deviceplugin.NUMANode{ID: int64(id)})
	}
	return info
}
