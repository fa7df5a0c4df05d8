package source

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/wait"
)

// identify finds the cluster's UID: that of its namespace kube-system. Names of leaves depend on it
// (rule 2.3), and all replicas must agree: it waits while the server is out of reach or faulty.
//
// If the server refuses it, or has no such namespace, the cluster's name stands in until the run
// ends. A later UID would rename leaves that resolvers have cached.
func (r *kubernetesRun) identify(ctx context.Context) {
	const what = "namespace kube-system"
	retry, denials := r.timing.retry, 0
	for {
		uid, err := r.systemUID(ctx)
		switch sort := classify(err); {
		case err == nil:
			r.good(what)
			r.change(func() { r.uid = uid })
			return
		case sort == forbidden || sort == missing:
			// Permissions and the namespace may come a moment after us.
			r.answered()
			if denials++; denials == maxDenials {
				name := r.opts.Cluster
				r.opts.Logf("%s: cannot read the UID of namespace kube-system: %v; using the name %q in DNS names until restart. "+
					"Grant get on it, or use the same name on every server", r.where(), err, name)
				r.troubles.drop(what)
				r.change(func() { r.uid = name })
				return
			}
		default:
			denials = 0
			r.fail(ctx, what, "", err)
		}
		if !pause(ctx, &retry) {
			return
		}
	}
}

// maxDenials is how many refusals in a row count as final.
const maxDenials = 3

// systemUID reads the UID of the namespace kube-system.
func (r *kubernetesRun) systemUID(ctx context.Context) (string, error) {
	const path = "/api/v1/namespaces/kube-system"
	var ns struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	err := r.get(ctx, path, &ns)
	switch {
	case classify(err) == missing && !signed(err):
		err = fmt.Errorf("GET %s: %w: %w", path, errStranger, err)
	case err == nil && ns.Metadata.UID == "":
		err = fmt.Errorf("GET %s: %w: no UID", path, errStranger)
	}
	return ns.Metadata.UID, err
}

// watchPulse keeps asking the server for a sign of life: a hanging server keeps its connections
// open, and its watches just fall silent. Any answer counts.
func (r *kubernetesRun) watchPulse(ctx context.Context) {
	interval := wait.Backoff{Duration: r.timing.pulse}
	silent := false
	for pause(ctx, &interval) {
		switch err := r.get(ctx, "/livez", nil); {
		case classify(err) == unreachable:
			silent = true
			r.fail(ctx, "", "", err)
		case silent && classify(err) != stranger:
			silent = false
			r.answered()
		}
	}
}
