package source

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// kindState is the progress of one kind.
type kindState struct {
	// namespaces has each namespace's progress; the key "" stands for all namespaces.
	namespaces map[string]*namespaceState
	// absent is set while the cluster does not have the kind.
	absent bool
	// since is when the kind was first found missing; zero if it is present.
	since time.Time
	// emptied is set if all objects of a listed kind were reported as deleted before the kind went
	// away: their loss is certain. It is cleared when the kind is listed again.
	emptied bool
	// missed is set while the last message says that the kind is not installed.
	missed bool
	// denied is set if the server refuses to say which versions it has.
	denied bool
	// failed is set once an attempt to read the kind has failed.
	failed bool
}

// namespaceState is the progress of one kind in one namespace.
type namespaceState struct {
	listed bool // sticks: a kind once listed stays so (rule 7.4)
	// lacks is set while the names are listed, but not every Secret to fetch has arrived in any
	// version.
	lacks  bool
	denied bool // refused, and not listed before
	fails  int  // refusals in a row
}

// listing returns the kind's Listing. A kind that is not found counts as not installed after the
// given time.
func (s *kindState) listing(confirm time.Duration) api.Listing {
	listed, denied := true, s.denied
	for _, n := range s.namespaces {
		listed = listed && n.listed && !n.lacks
		denied = denied || n.denied
	}
	switch {
	case listed:
		return api.Listed
	case s.absent && !denied && !s.emptied && (s.since.IsZero() || time.Since(s.since) < confirm): // found again, or missing only briefly
		return api.Missing
	case s.absent && !denied:
		return api.NotInstalled
	}
	return api.NotListed
}

// listedIn returns the namespaces that are listed, sorted.
func (s *kindState) listedIn() (names []string) {
	for name, n := range s.namespaces {
		if n.listed && !n.lacks {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// noteFetched records the progress of Secrets that are fetched by name. referred reports whether
// the references in a namespace are known. A kind once listed stays listed when more Secrets become
// needed.
func (s *kindState) noteFetched(store *secretStore, referred func(namespace string) bool) {
	for name, n := range s.namespaces {
		n.lacks = n.lacks && !(referred(name) && store.ready(prefixOf(name)))
	}
}

// settled reports whether the first cluster need not wait for the kind: its state will not change
// soon, or it holds no names and something fails.
func (s *kindState) settled(kind api.Kind) bool {
	if s.denied || s.absent || s.failed && !kind.HoldsNames() {
		return true
	}
	for _, n := range s.namespaces {
		if !n.listed && !n.denied {
			return false
		}
	}
	return true
}

// follow keeps one kind's objects up to date until ctx ends.
func (r *kubernetesRun) follow(ctx context.Context, kind api.Kind) {
	what := "the versions of " + kind.FullResource()
	retry, recheck := r.timing.retry, r.timing.recheck
	for {
		version, err := r.discover(ctx, kind)
		switch {
		case err != nil:
			const rights = "the verb get on the paths /apis, /apis/* and /readyz, as the ClusterRole system:discovery does"
			lasting := r.fail(ctx, what, rights, err).lasting()
			r.change(func() {
				state := &r.states[kind]
				state.failed, state.denied = true, state.denied || lasting
			})
		case version == "":
			r.good(what)
			r.setAbsent(kind)
			r.opts.Observer.Serves(kind, "")
			if !pause(ctx, &recheck) {
				return
			}
			continue
		default:
			if !kind.Core() { // core kinds need no discovery
				r.good(what)
			}
			r.setPresent(kind, version)
			r.opts.Observer.Serves(kind, version)
			recheck = r.timing.recheck
			began := time.Now()
			r.watch(ctx, kind, version)
			if time.Since(began) > r.timing.retry.Cap {
				retry = r.timing.retry
			}
		}
		if !pause(ctx, &retry) {
			return
		}
	}
}

// discover returns the best version of kind that the server has, "" for none. Only a list from a
// server that says it is ready proves that a kind is missing: a 404 can come from anything at the
// server's address, and a starting server does not know its CRDs yet.
func (r *kubernetesRun) discover(ctx context.Context, kind api.Kind) (version string, err error) {
	if kind.Core() {
		return kinds[kind].versions[0], nil
	}
	if version, err = r.serves(ctx, kind); version != "" || err != nil {
		return version, err
	}
	switch err := r.get(ctx, "/readyz", nil); classify(err) {
	case none, forbidden, unauthorized, missing: // the last three prove nothing
	case busy:
		return "", fmt.Errorf("%w: %w", errNotReady, err)
	default:
		return "", err
	}
	return r.serves(ctx, kind)
}

// serves returns the best version of kind in the server's lists, "" for none.
func (r *kubernetesRun) serves(ctx context.Context, kind api.Kind) (version string, err error) {
	info := &kinds[kind]
	var groups metav1.APIGroupList
	switch err := r.get(ctx, "/apis", &groups); {
	case classify(err) == missing:
		return "", fmt.Errorf("GET /apis: %w: %w", errStranger, err)
	case err != nil:
		return "", err
	case groups.Kind != "APIGroupList":
		return "", fmt.Errorf("GET /apis: %w: not a list of groups but a %.64q", errStranger, groups.Kind)
	}
	at := slices.IndexFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == kind.Group() })
	if at < 0 {
		return "", nil
	}
	for _, version := range info.versions {
		if !slices.ContainsFunc(groups.Groups[at].Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.Version == version }) {
			continue
		}
		var list metav1.APIResourceList
		if err := r.get(ctx, "/apis/"+kind.Group()+"/"+version, &list); err != nil {
			return "", err
		}
		if slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == kind.Resource() }) {
			return version, nil
		}
	}
	return "", nil
}

// setPresent notes that the cluster has kind in this version.
func (r *kubernetesRun) setPresent(kind api.Kind, version string) {
	missed := false
	r.change(func() {
		state := &r.states[kind]
		missed = state.missed
		state.missed, state.denied, state.since = false, false, time.Time{}
	})
	if missed {
		r.opts.Infof("%s: %s is installed; reading version %s", r.where(), kind.FullResource(), version)
	}
}

// setAbsent records that the cluster lacks kind. A CRD is deleted after its objects, and a watch
// reports those deletions. Objects left then are held until a restarting or misdirected server is
// ruled out.
func (r *kubernetesRun) setAbsent(kind api.Kind) {
	var line string
	logf := r.opts.Logf
	r.change(func() {
		state := &r.states[kind]
		first := state.since.IsZero()
		if first {
			state.since = time.Now()
		}
		left := r.store.kinds[kind].len()
		switch {
		case state.absent && state.missed:
		case left > 0 && time.Since(state.since) < r.timing.confirm:
			if first {
				state.missed = true
				line = fmt.Sprintf("is no longer installed; keeping %d objects for %v, as no DELETE event reported them", left,
					r.timing.confirm)
			}
		default:
			line = "is not installed; looking for it every 30 seconds"
			if kinds[kind].optional {
				logf = r.opts.Infof
			}
			state.emptied = left == 0 && state.listing(0) == api.Listed
			state.absent, state.missed, state.denied = true, true, false
			for _, n := range state.namespaces {
				*n = namespaceState{}
			}
			r.store.kinds[kind].replace("", nil)
		}
	})
	if line != "" {
		logf("%s: %s %s", r.where(), kind.FullResource(), line)
	}
}

// settled reports whether the first cluster can be published. r is locked.
func (r *kubernetesRun) settled() bool {
	failing := false
	for kind := range api.NumKinds {
		state := &r.states[kind]
		switch {
		case !r.opts.Watches(kind) || state.settled(kind):
		case kinds[kind].optional && state.failed:
			failing = true
		default:
			return false
		}
	}
	return !failing || r.spared() // all else has been read
}

// awaitsProviders reports whether the first cluster waits for Secrets that policies name as DNS
// providers: the hosts of those policies are unknown before. r is locked.
func (r *kubernetesRun) awaitsProviders() bool {
	if !r.opts.Watches(api.KindSecret) || !r.secrets.needs.providing() {
		return false
	}
	if r.states[api.KindSecret].settled(api.KindSecret) && r.secrets.ready("") {
		return false
	}
	return !r.spared()
}

// spared reports whether the wait for optional kinds is over; the first call starts it. r is
// locked.
func (r *kubernetesRun) spared() bool {
	if r.spare.IsZero() {
		r.spare = time.Now()
		time.AfterFunc(r.timing.spare, func() { r.change(func() {}) })
	}
	return time.Since(r.spare) >= r.timing.spare
}
