package controller

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUndoneFlapsInLog: somebody undoes what is written to one object, and other objects are
// written all the while. That is one object's matter: it is said once, and it is not said each time
// that all objects of the kind can be written again.
func TestUndoneFlapsInLog(t *testing.T) {
	w, lines := unreachable(t, nil)
	undone := api.Ref{Kind: api.KindDNSPolicy, Name: "ns/undone"}
	for i := range 5 {
		_ = w.tell(undone, "write the status of", &undoneError{undone})
		_ = w.tell(api.Ref{Kind: api.KindDNSPolicy, Name: fmt.Sprint("ns/other", i)}, "write the status of", nil)
	}
	if len(*lines) > 1 {
		t.Errorf("%d lines:\n%s", len(*lines), strings.Join(*lines, "\n"))
	}
}

// TestUndoneHidesOutage: while somebody undoes what is written to one object, that the API server
// cannot be reached for all others is still to be said.
func TestUndoneHidesOutage(t *testing.T) {
	w, lines := unreachable(t, nil)
	undone := api.Ref{Kind: api.KindDNSPolicy, Name: "ns/undone"}
	_ = w.tell(undone, "write the status of", &undoneError{undone})
	_ = w.tell(api.Ref{Kind: api.KindDNSPolicy, Name: "ns/other"}, "write the status of", fmt.Errorf("no route to host"))
	if !strings.Contains(strings.Join(*lines, "\n"), "no route to host") {
		t.Errorf("nothing is said of the outage:\n%s", strings.Join(*lines, "\n"))
	}
}

// TestAbsentAfterOutage: while the API server was away, an object was tried again and again. The first
// time that the API server, which has just come back, says that it does not have it is no reason to
// leave it: it has only begun to serve the kind.
func TestAbsentAfterOutage(t *testing.T) {
	w, lines := unreachable(t, nil)
	k := newWork(w)
	defer k.queue.ShutDown()
	ref := api.Ref{Kind: api.KindDNSPolicy, Name: "ns/a"}
	for range maxMissing {
		k.queue.AddRateLimited(ref) // no answer
	}
	if !k.absent(ref) {
		t.Errorf("it is left for good, and this is said: %q", *lines)
	}
}
