package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// kindState is how far one kind has got.
type kindState struct {
	// parts is by namespace; the one entry "" stands for all of them.
	parts map[string]*partState
	// absent is set while the cluster does not have the kind.
	absent bool
	// since is when the kind was first found to be missing, in a row; zero
	// while it is not.
	since time.Time
	// denied is set where the server's versions cannot be found out.
	denied bool
}

// partState is how far one kind in one namespace has got.
type partState struct {
	listed bool // sticks: what was listed once stays, rule 7.4
	denied bool // refused, and not listed before
	fails  int  // refusals in a row
}

// listing returns how far the kind is listed.
func (s *kindState) listing() api.Listing {
	listed, denied := true, s.denied
	for _, p := range s.parts {
		listed = listed && p.listed
		denied = denied || p.denied
	}
	switch {
	case listed:
		return api.Listed
	case s.absent && !denied:
		return api.NotInstalled
	}
	return api.NotListed
}

// settled tells whether nothing is to be expected of the kind soon.
func (s *kindState) settled() bool {
	if s.denied || s.absent {
		return true
	}
	for _, p := range s.parts {
		if !p.listed && !p.denied {
			return false
		}
	}
	return true
}

// follow keeps the objects of one kind up to date until ctx ends.
func (f *following) follow(ctx context.Context, kind api.Kind) {
	what := "the versions of " + kinds[kind].fullResource()
	retry, recheck := f.timing.retry, f.timing.recheck
	for {
		version, err := f.discover(ctx, kind)
		switch {
		case err != nil:
			const rights = "the verb get on the paths /apis, /apis/* and /readyz, as the ClusterRole system:discovery does"
			if f.fail(ctx, what, rights, err).lasting() {
				f.change(func() { f.states[kind].denied = true })
			}
		case version == "":
			f.good(what)
			f.setAbsent(kind)
			if !pause(ctx, &recheck) {
				return
			}
			continue
		default:
			f.good(what)
			f.change(func() {
				f.states[kind].denied = false
				f.states[kind].since = time.Time{}
			})
			recheck = f.timing.recheck
			began := time.Now()
			f.watch(ctx, kind, version)
			if time.Since(began) > f.timing.retry.Cap {
				retry = f.timing.retry
			}
		}
		if !pause(ctx, &retry) {
			return
		}
	}
}

// discover returns the best version of kind that the server has, "" where it has
// none.
//
// That a kind is missing must be said by a list of what there is, from a server
// that says it is ready: a 404 can come from anything that stands at the
// server's address, and a server that starts does not know its CRDs yet.
func (f *following) discover(ctx context.Context, kind api.Kind) (version string, err error) {
	if version, err = f.serves(ctx, kind); version != "" || err != nil {
		return version, err
	}
	switch err := f.get(ctx, "/readyz", nil); classify(err) {
	case none, forbidden, unauthorized, missing: // the last ones cannot tell
	default:
		return "", fmt.Errorf("ask whether the API server is ready: %w", err)
	}
	return f.serves(ctx, kind)
}

// serves returns the best version of kind in the server's lists, "" where there
// is none.
func (f *following) serves(ctx context.Context, kind api.Kind) (version string, err error) {
	info := &kinds[kind]
	var groups metav1.APIGroupList
	if err := f.get(ctx, "/apis", &groups); err != nil {
		return "", err
	}
	if groups.Kind != "APIGroupList" {
		return "", errors.New("the answer to /apis is not that of an API server")
	}
	at := slices.IndexFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == info.group })
	if at < 0 {
		return "", nil
	}
	for _, version := range info.versions {
		if !slices.ContainsFunc(groups.Groups[at].Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.Version == version }) {
			continue
		}
		var list metav1.APIResourceList
		if err := f.get(ctx, "/apis/"+info.group+"/"+version, &list); err != nil {
			return "", err
		}
		if slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == info.resource }) {
			return version, nil
		}
	}
	return "", nil
}

// setAbsent notes that the cluster does not have kind. A CRD is deleted after
// its objects, and a watch reports those: objects that are left then are held
// until nobody can take a restarting or misdirected server for a deletion.
func (f *following) setAbsent(kind api.Kind) {
	var line string
	f.change(func() {
		state := &f.states[kind]
		first := state.since.IsZero()
		if first {
			state.since = time.Now()
		}
		left := f.all.kinds[kind].len()
		switch {
		case state.absent:
		case left > 0 && time.Since(state.since) < f.timing.confirm:
			if first {
				line = fmt.Sprintf("is not installed any more, and %d objects were not reported as deleted: keeping them for %v", left, f.timing.confirm)
			}
		default:
			line = "is not installed; looking for it every 30 seconds"
			state.absent, state.denied = true, false
			for _, p := range state.parts {
				*p = partState{}
			}
			f.all.kinds[kind].replace("", nil)
		}
	})
	if line != "" {
		f.opts.Logf("%s: %s %s", f.where(), kinds[kind].fullResource(), line)
	}
}

// awaitBetter returns when the server has another version of kind that is to be
// preferred to the given one, or when ctx ends.
func (f *following) awaitBetter(ctx context.Context, kind api.Kind, version string) {
	recheck := f.timing.recheck
	for pause(ctx, &recheck) {
		if now, err := f.serves(ctx, kind); err == nil && now != "" && now != version {
			f.opts.Logf("%s: %s is served in version %s now; switching from %s", f.where(), kinds[kind].fullResource(), now, version)
			return
		}
	}
}
