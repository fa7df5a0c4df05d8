package source

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/wait"
)

// identify reads the cluster's UID: that of its namespace kube-system. Leaf names depend on it
// (rule 2.3), and all replicas must agree: identify waits while the server is unreachable or
// faulty.
//
// If the server refuses the request, or has no such namespace, the cluster's name is used until the
// run ends. A later UID would rename leaves that resolvers have cached.
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
			// At startup, permissions and the namespace may appear after this process.
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

// watchPulse polls the server: a hanging server keeps its connections open while its watches fall
// silent. Any answer counts.
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
