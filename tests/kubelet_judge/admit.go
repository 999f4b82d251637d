package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

// badQuestion is an error of who asks, where kubelet could not have been in that state.
type badQuestion struct{ error }

type verdict struct {
	Admit  bool    `json:"admit"`
	Reason *string `json:"reason"`
}

// answer has the keys that vectors expect. Exactly one of Error, StartError, Panic and Verdict is there.
type answer struct {
	Error         string `json:"error,omitempty"`
	KubeletStarts *bool  `json:"kubelet_starts,omitempty"`
	StartError    string `json:"start_error,omitempty"`
	Panic         string `json:"panic,omitempty"`
	*verdict
	Message    string             `json:"message,omitempty"`
	QoS        string             `json:"qos,omitempty"`
	Hints      map[string][]hint  `json:"hints,omitzero"`
	Merged     *merged            `json:"merged,omitzero"`
	Containers []*containerAnswer `json:"containers,omitzero"`
	Before     []verdict          `json:"before,omitzero"`
}

// ask boots a kubelet for one line and lets it admit the line's pods.
func ask(line []byte, parent string) (result answer) {
	var q question
	reader := json.NewDecoder(bytes.NewReader(line))
	reader.DisallowUnknownFields()
	if err := reader.Decode(&q); err != nil {
		return answer{Error: fmt.Sprintf("no question: %v", err)}
	}
	folder, err := os.MkdirTemp(parent, "k")
	if err != nil {
		return answer{Error: err.Error()}
	}
	defer os.RemoveAll(folder)
	defer func() {
		if cause := recover(); cause != nil {
			result = answer{Panic: fmt.Sprint(cause)}
		}
	}()
	running := []*v1.Pod{holder()}
	if len(q.Node.Existing) > 0 {
		running = append(running, q.Pod.object("pod", podUID))
	}
	k, err := start(context.Background(), q.Node, running, folder)
	if bad, isBad := err.(badQuestion); isBad {
		return answer{Error: bad.Error()}
	}
	if err != nil {
		starts := false
		return answer{KubeletStarts: &starts, StartError: err.Error()}
	}
	defer k.stop()
	return k.admitAll(q)
}

func (k *kubelet) admitAll(q question) (result answer) {
	for index, earlier := range q.Before {
		name := fmt.Sprintf("before%d", index)
		refused := k.admit(earlier.object(name, name), q.Node.PluginFails[name])
		result.Before = append(result.Before, judged(refused))
	}
	asked := q.Pod.object("pod", podUID)
	outcome := k.admit(asked, q.Node.PluginFails["pod"])
	given := judged(outcome)
	result.verdict, result.Message = &given, outcome.Message
	result.QoS = string(qos.GetPodQOS(asked))
	k.story.end()
	result.Hints, result.Merged = k.story.Hints, k.story.Merged
	result.Containers = append([]*containerAnswer{}, k.story.Containers...)
	return result
}

// admit asks for one pod, which stays if it is admitted and gives back what it took if it is not.
func (k *kubelet) admit(p *v1.Pod, fails string) lifecycle.PodAdmitResult {
	for _, plugin := range k.plugins {
		plugin.fails, plugin.asked = fails, nil
	}
	k.story.begin()
	k.enter(p)
	outcome := k.topology.Admit(&lifecycle.PodAdmitAttributes{Pod: p})
	if !outcome.Admit {
		k.leave(p)
	}
	return outcome
}

func judged(outcome lifecycle.PodAdmitResult) verdict {
	if outcome.Admit {
		return verdict{Admit: true}
	}
	return verdict{Reason: &outcome.Reason}
}

// object is the pod as the API server stores it, its defaults filled in.
func (p pod) object(name, uid string) *v1.Pod {
	object := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(uid)},
		Spec:       v1.PodSpec{Resources: p.Resources},
	}
	for _, c := range p.InitContainers {
		object.Spec.InitContainers = append(object.Spec.InitContainers, c.object())
	}
	for _, c := range p.Containers {
		object.Spec.Containers = append(object.Spec.Containers, c.object())
	}
	defaults.SetObjectDefaults_Pod(object)
	return object
}

func (c container) object() v1.Container {
	return v1.Container{
		Name:          c.Name,
		RestartPolicy: c.RestartPolicy,
		Resources:     v1.ResourceRequirements{Limits: c.Limits, Requests: c.Requests},
	}
}
