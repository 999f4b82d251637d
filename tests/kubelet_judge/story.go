package main

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// hint is one of kubelet's: a pair of NUMA nodes and preference, as vectors write it.
type hint [2]any

type merged struct {
	Mask      []int `json:"mask"`
	Preferred bool  `json:"preferred"`
}

type deviceAnswer struct {
	Size   int             `json:"size"`
	Call   *preferenceCall `json:"call"`
	Picked []string        `json:"picked"`
}

type containerAnswer struct {
	Name        string                  `json:"name"`
	Hints       map[string][]hint       `json:"hints,omitzero"`
	Merged      *merged                 `json:"merged,omitzero"`
	CPUs        *string                 `json:"cpus,omitzero"`
	MemoryNodes []int                   `json:"memory_nodes,omitzero"`
	Devices     map[string]deviceAnswer `json:"devices,omitzero"`
}

// story is what happened while one pod was looked at, in the order in which kubelet asked.
type story struct {
	topology   topologymanager.Manager
	merges     bool
	hints      []map[string][]topologymanager.TopologyHint
	Containers []*containerAnswer
	Hints      map[string][]hint
	Merged     *merged
}

func newStory(topology topologymanager.Manager, merges bool) *story {
	return &story{topology: topology, merges: merges}
}

// begin forgets the pod before.
func (s *story) begin() {
	s.hints, s.Containers, s.Hints, s.Merged = nil, nil, nil, nil
}

// container returns the entry of a container, made when kubelet first speaks of it.
func (s *story) container(name string) *containerAnswer {
	for _, entry := range s.Containers {
		if entry.Name == name {
			return entry
		}
	}
	entry := &containerAnswer{Name: name}
	s.Containers = append(s.Containers, entry)
	s.hints = nil
	return entry
}

func (s *story) heardContainer(name string, hints map[string][]topologymanager.TopologyHint) {
	entry := s.container(name)
	if entry.Hints == nil {
		entry.Hints = map[string][]hint{}
	}
	s.hear(entry.Hints, hints)
}

func (s *story) heardPod(hints map[string][]topologymanager.TopologyHint) {
	if s.Hints == nil {
		s.Hints = map[string][]hint{}
	}
	s.hear(s.Hints, hints)
}

func (s *story) hear(into map[string][]hint, hints map[string][]topologymanager.TopologyHint) {
	s.hints = append(s.hints, hints)
	for resource, list := range hints {
		into[resource] = told(list)
	}
}

// heardMerge notes the hint that kubelet stored for a container before it allocated.
func (s *story) heardMerge(p *v1.Pod, name string) {
	entry := s.container(name)
	if !s.merges || entry.Merged != nil || s.Merged != nil {
		return
	}
	stored := merge(s.topology.GetAffinity(string(p.UID), name))
	if s.Hints != nil {
		s.Merged = stored
	} else {
		entry.Merged = stored
	}
}

// end asks the policy for a merged hint that it refused and therefore did not store.
func (s *story) end() {
	if !s.merges || len(s.hints) == 0 {
		return
	}
	if s.Hints != nil && s.Merged == nil {
		s.Merged = s.mergeAgain()
	} else if last := len(s.Containers) - 1; s.Hints == nil && last >= 0 && s.Containers[last].Merged == nil {
		s.Containers[last].Merged = s.mergeAgain()
	}
}

func (s *story) mergeAgain() *merged {
	best, _ := s.topology.GetPolicy().Merge(klog.TODO(), s.hints)
	return merge(best)
}

func merge(h topologymanager.TopologyHint) *merged {
	return &merged{Mask: bits(h), Preferred: h.Preferred}
}

func told(list []topologymanager.TopologyHint) []hint {
	if list == nil {
		return nil
	}
	hints := []hint{}
	for _, one := range list {
		hints = append(hints, hint{bits(one), one.Preferred})
	}
	return hints
}

func bits(h topologymanager.TopologyHint) []int {
	if h.NUMANodeAffinity == nil {
		return nil
	}
	return slices.Sorted(slices.Values(h.NUMANodeAffinity.GetBits()))
}

// witness stands between the topology manager and a provider, and tells the story of what passes.
type witness struct {
	topologymanager.HintProvider
	story *story
	saw   func(p *v1.Pod, c *v1.Container, entry *containerAnswer)
}

func (w *witness) GetTopologyHints(p *v1.Pod, c *v1.Container) map[string][]topologymanager.TopologyHint {
	w.story.container(c.Name)
	hints := w.HintProvider.GetTopologyHints(p, c)
	w.story.heardContainer(c.Name, hints)
	return hints
}

func (w *witness) GetPodTopologyHints(p *v1.Pod) map[string][]topologymanager.TopologyHint {
	hints := w.HintProvider.GetPodTopologyHints(p)
	w.story.heardPod(hints)
	return hints
}

func (w *witness) Allocate(p *v1.Pod, c *v1.Container) error {
	w.story.heardMerge(p, c.Name)
	if err := w.HintProvider.Allocate(p, c); err != nil {
		return err
	}
	w.saw(p, c, w.story.container(c.Name))
	return nil
}

func (w *witness) AllocatePod(p *v1.Pod) error {
	if err := w.HintProvider.AllocatePod(p); err != nil {
		w.story.Containers = nil // One block for all of them: none of them was looked at.
		return err
	}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		w.story.heardMerge(p, c.Name)
		w.saw(p, &c, w.story.container(c.Name))
	}
	return nil
}
