// Command kubelet_judge answers questions about a machine and its pods by kubelet's own code: the managers of the
// Kubernetes release that go.mod pins are booted anew for each question and asked in kubelet's order. It reads one
// question a line in the format of the vectors and writes one answer a line.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

const longestLine = 16 << 20

func main() {
	folder := flag.String("folder", os.TempDir(), "where kubelet's files of each question are kept while it is answered")
	patience := flag.Duration("patience", 10*time.Second, "how long one question may take before kubelet is said to stall")
	flag.Parse()
	klog.SetLogger(logr.Discard())
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, longestLine)
	output := json.NewEncoder(os.Stdout)
	for input.Scan() {
		if !answerLine(output, input.Bytes(), *folder, *patience) {
			os.Exit(0) // The stalled question cannot be stopped; who asks starts another process for the rest.
		}
	}
	if err := input.Err(); err != nil {
		log.Fatalf("cannot read questions: %v", err)
	}
}

// answerLine writes one answer and tells whether this process can take another question.
func answerLine(output *json.Encoder, line []byte, folder string, patience time.Duration) bool {
	answered := make(chan answer, 1)
	go func() { answered <- ask(line, folder) }()
	var written any
	select {
	case written = <-answered:
	case <-time.After(patience):
		written = map[string]any{"stalls": fmt.Sprint(patience)}
	}
	if err := output.Encode(written); err != nil {
		log.Fatalf("cannot write an answer: %v", err)
	}
	_, inTime := written.(answer)
	return inTime
}
