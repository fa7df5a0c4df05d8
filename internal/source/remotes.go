package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// These name the parts of a Secret that adds a cluster, in the form of Kuadrant's dns-operator.
const (
	// RemoteLabel is the label of such a Secret, with the value "true".
	RemoteLabel = "kuadrant.io/multicluster-kubeconfig"
	// remoteKey is the key of the kubeconfig in the Secret's data.
	remoteKey = "kubeconfig"
	// remotePools is the annotation that lists the namespaces in which the cluster pools: separated
	// by commas, or "*" for all. Without it, the cluster pools in none.
	remotePools = "kuadrant.io/namespaces"
	// remoteGroup is the annotation with the cluster's group (rule 9.5).
	remoteGroup = "kuadrant.io/group"
)

// Remote is a cluster that a Secret names. It is immutable.
type Remote struct {
	// Name is that of the Secret; Secret is its namespace/name.
	Name, Secret string
	// Config says how to reach the cluster's API server; nil if Fault is set. It holds credentials:
	// never log it.
	Config *rest.Config
	Pools  api.Pools
	Group  string // "" for none
	// Created is the Secret's metadata.creationTimestamp in seconds since 1970, 0 for none.
	Created int64
	// Fault says why there is no Config, Warning what else is wrong; "" for nothing. Neither quotes
	// the Secret's values.
	Fault, Warning string
}

// Same reports whether r and o are equal.
func (r *Remote) Same(o *Remote) bool { return reflect.DeepEqual(r, o) }

// RemotesOptions says where to look for Secrets that name clusters.
type RemotesOptions struct {
	// Cluster is the cluster that holds the Secrets, Config says how to reach its API server, and
	// Namespace is the Secrets' namespace.
	Cluster   string
	Config    *rest.Config
	Namespace string
	Logf      Logf // takes warnings; nil drops them
	Infof     Logf // takes information; nil sends it to Logf
}

// FollowRemotes lists and watches one namespace's Secrets with RemoteLabel until ctx ends. It
// publishes all clusters that they name, sorted by name, once the Secrets have been listed and
// after each change. If the server persistently refuses to list them, it publishes nil once. It
// calls publish from one goroutine. A Secret that is no longer published was deleted, lost the label,
// or is missing from a new list.
//
// It keeps values only while their Secrets exist, and never logs them. It returns nil when ctx
// ends, and an error if the configuration cannot work.
func FollowRemotes(ctx context.Context, opts RemotesOptions, publish func([]*Remote)) error {
	w, err := newRemotesWatch(opts)
	if err != nil {
		return fmt.Errorf("set up the client for cluster Secrets: %w", err)
	}
	defer w.close()
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { w.reflect(ctx, w.what, true, w.request, w.noted, (*remotesStore)(w)) })
	w.gather(ctx, func() {
		if all, ok := w.all(); ok {
			publish(all)
		}
	})
	return nil
}

// decodeRemote decodes a Secret that names a cluster. A mistake in the Secret becomes the Remote's
// Fault.
func decodeRemote(data []byte) (any, error) {
	var secret struct {
		Metadata struct {
			Namespace   string            `json:"namespace"`
			Name        string            `json:"name"`
			Annotations map[string]string `json:"annotations"`
			Deleted     string            `json:"deletionTimestamp"`
			Created     metav1.Time       `json:"creationTimestamp"`
		} `json:"metadata"`
		Data map[string][]byte `json:"data"`
	}
	if err := json.Unmarshal(data, &secret); err != nil {
		return nil, errors.New("not a Secret") // the cause may quote it
	}
	m := &secret.Metadata
	if m.Deleted != "" {
		return (*Remote)(nil), nil
	}
	r := &Remote{Name: m.Name, Secret: m.Namespace + "/" + m.Name}
	if !m.Created.IsZero() {
		r.Created = m.Created.Unix()
	}
	r.Pools, r.Warning = parsePools(m.Annotations[remotePools])
	if group, set := m.Annotations[remoteGroup]; set {
		if err := api.CheckGroup(group); err == nil {
			r.Group = group
		} else {
			r.Warning = strings.TrimPrefix(r.Warning+"; annotation "+remoteGroup+": the cluster has no group: "+err.Error(), "; ")
		}
	}
	text, ok := secret.Data[remoteKey]
	if !ok {
		r.Fault = "no key " + remoteKey
		return r, nil
	}
	var err error
	if r.Config, err = ReadKubeconfig(text); err != nil {
		r.Config, r.Fault = nil, remoteKey+": "+err.Error()
	}
	return r, nil
}

// parsePools reads the annotation remotePools; "" if missing.
func parsePools(list string) (pools api.Pools, warning string) {
	var names []string
	wrong := 0
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "":
		case name == "*":
			return api.Pools{}, ""
		case len(validation.IsDNS1123Label(name)) > 0:
			wrong++
		default:
			names = append(names, name)
		}
	}
	if wrong > 0 {
		warning = fmt.Sprintf("annotation %s: ignoring %d entries that are not namespace names (up to 63 of a-z, 0-9 and -); "+
			"separate names by commas, or write *", remotePools, wrong)
	}
	return api.PoolsIn(names...), warning
}

// remotesWatch is a reflector's source of the Secrets, and its store.
type remotesWatch struct {
	*server
	client    rest.Interface
	namespace string
	what      string // for messages

	// mu guards the fields below.
	known   map[string]*Remote // by namespace/name of the Secret
	listed  bool               // they have been listed once
	denials int
	told    bool // a message said that the list is refused
}

func newRemotesWatch(opts RemotesOptions) (*remotesWatch, error) {
	warnf, infof := logs(opts.Logf, opts.Infof)
	s, err := newServer(opts.Cluster, opts.Config, warnf, infof)
	if err != nil {
		return nil, err
	}
	w := &remotesWatch{
		server: s, namespace: opts.Namespace, known: make(map[string]*Remote),
		what: fmt.Sprintf("cluster Secrets in namespace %s", opts.Namespace),
	}
	w.client, err = s.client(schema.GroupVersion{Version: "v1"}, &codec{kind: api.KindSecret, decode: decodeRemote})
	return w, err
}

// all returns the remotes to publish; ok is false for none.
func (w *remotesWatch) all() (all []*Remote, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.listed {
		ok = w.denials >= maxDenials && !w.told
		w.told = w.told || ok
		return nil, ok
	}
	all = slices.AppendSeq([]*Remote{}, maps.Values(w.known))
	slices.SortFunc(all, func(a, b *Remote) int { return strings.Compare(a.Name, b.Name) })
	return all, true
}

// request prepares a list or a watch.
func (w *remotesWatch) request(opts *metav1.ListOptions) *rest.Request {
	opts.LabelSelector = RemoteLabel + "=true"
	req := w.client.Get()
	if !opts.Watch {
		req = req.Timeout(w.timing.watch)
	}
	return req.MaxRetries(0).Namespace(w.namespace).Resource("secrets").
		SpecificallyVersionedParams(opts, metav1.ParameterCodec, metav1.Unversioned)
}

// noted records the result of a list or a watch. The cluster's own source reports an unreachable
// server.
func (w *remotesWatch) noted(ctx context.Context, _ metav1.ListOptions, err error) {
	sort := classify(err)
	if sort == none || sort == unreachable || sort == stranger || sort == unauthorized {
		return
	}
	w.fail(ctx, w.what, fmt.Sprintf("the verbs list and watch on secrets in namespace %s, or ignore this if no Secret names a "+
		"cluster", w.namespace), err)
	if !sort.lasting() && sort != missing {
		return
	}
	w.change(func() { w.denials++ })
}

// remotesStore is a remotesWatch as its reflector's store.
type remotesStore remotesWatch

// put stores one Secret. One that cannot be decoded keeps its last form.
func (s *remotesStore) put(into map[string]*Remote, obj any) {
	w, ok := obj.(*wire)
	if !ok || w.name == "" {
		return
	}
	r, _ := w.value.(*Remote)
	if w.err != nil {
		s.troubles.warnf("%s: %s: skipping %s: %v", s.where(), s.what, w.name, w.err)
		r = s.known[w.name]
	}
	if delete(into, w.name); r != nil {
		into[w.name] = r
	}
}

// Add implements cache.ReflectorStore.
func (s *remotesStore) Add(obj any) error {
	s.change(func() { s.put(s.known, obj) })
	return nil
}

// Update implements cache.ReflectorStore.
func (s *remotesStore) Update(obj any) error { return s.Add(obj) }

// Delete implements cache.ReflectorStore.
func (s *remotesStore) Delete(obj any) error {
	if w, ok := obj.(*wire); ok {
		s.change(func() { delete(s.known, w.name) })
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *remotesStore) Replace(list []any, _ string) error {
	fresh := make(map[string]*Remote, len(list))
	s.change(func() {
		for _, obj := range list {
			s.put(fresh, obj)
		}
		s.known, s.listed = fresh, true
	})
	s.good(s.what)
	return nil
}

// Resync implements cache.ReflectorStore; it does nothing.
func (s *remotesStore) Resync() error { return nil }
