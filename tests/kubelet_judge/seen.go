package main

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// sawDevices notes what a container was given of each resource that a plugin serves, and what the plugin was asked.
func (k *kubelet) sawDevices(p *v1.Pod, c *v1.Container, entry *containerAnswer) {
	entry.Devices = map[string]deviceAnswer{}
	given := k.devices.GetDevices(string(p.UID), c.Name)
	for resource, devices := range given {
		picked := slices.Sorted(maps.Keys(devices))
		answer := deviceAnswer{Size: len(picked), Picked: picked}
		if plugin, connected := k.plugins[resource]; connected {
			answer.Call, plugin.asked = plugin.asked, nil
		}
		entry.Devices[resource] = answer
	}
}

func (k *kubelet) sawCPUs(p *v1.Pod, c *v1.Container, entry *containerAnswer) {
	given, _ := k.cpus.State().GetCPUSet(string(p.UID), c.Name)
	text := given.String()
	entry.CPUs = &text
}

func (k *kubelet) sawMemory(p *v1.Pod, c *v1.Container, entry *containerAnswer) {
	nodes := map[int]bool{}
	for _, block := range k.memory.GetMemory(string(p.UID), c.Name) {
		for _, id := range block.NUMAAffinity {
			nodes[id] = true
		}
	}
	entry.MemoryNodes = append([]int{}, slices.Sorted(maps.Keys(nodes))...)
}
