package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// otherManagers are the field managers of controllers that write the same objects; those of
// Kuadrant's operators are named after their binary.
var otherManagers = []string{"manager", "kuadrant-operator", "dns-operator"}

// otherLeases are the Leases of controllers that write the same objects, by name.
var otherLeases = []struct{ name, of string }{
	{"f139389e.kuadrant.io", "kuadrant-operator"},
	{"a3f98d6c.kuadrant.io", "dns-operator"},
}

// operatorNamespaces are the default namespaces of Kuadrant's operators. A Lease elsewhere may
// belong to a tenant who may make Leases but not write statuses: it counts only if such a
// controller has also written an object's status.
var operatorNamespaces = []string{"kuadrant-system", "dns-operator-system", "openshift-operators"}

// others finds other controllers at work in the cluster by their Leases: one renewed while this
// replica looks has a live holder. One that is not renewed is left over, whatever its time: clocks
// differ.
type others struct {
	w      *Writer
	leases typedcoordinationv1.LeasesGetter
	// work names those at work; nil for none.
	work atomic.Pointer[string]
	// seen is each Lease's content at the last look, and when it was seen to change. It belongs to
	// the goroutine that looks.
	seen map[string]renewal
}

type renewal struct {
	text string
	at   time.Time // zero before it was seen to change
}

func (o *others) init(w *Writer, config *rest.Config) (err error) {
	o.w, o.seen = w, make(map[string]renewal)
	o.leases, err = typedcoordinationv1.NewForConfigAndClient(config, w.http)
	return err
}

// atWork names the controllers that are at work; "" for none.
func (o *others) atWork() string {
	if p := o.work.Load(); p != nil {
		return *p
	}
	return ""
}

// maxLooks bounds the looks for other controllers before the first write, if the API server does
// not answer.
const maxLooks = 6

// begin looks for other controllers before the first write. If one has a Lease, it waits until that
// one must have renewed it: one look cannot tell. A failed look says nothing, and is repeated,
// unless it is forbidden.
func (o *others) begin(ctx context.Context) {
	clear(o.seen)
	looked := false
	for range maxLooks {
		found, held, err := o.look(ctx)
		switch {
		case err == nil && (held == 0 || looked):
			o.set(found)
			return
		case classify(err) == forbidden:
			return
		}
		looked = looked || err == nil
		wait := time.NewTimer(o.w.timing.others)
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
	}
}

// follow repeats the look until ctx ends.
func (o *others) follow(ctx context.Context) {
	tick := time.NewTicker(3 * o.w.timing.others)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if found, _, err := o.look(ctx); err == nil {
				o.set(found)
			}
		}
	}
}

// look looks at the Leases once, and returns who was seen to renew one, "" for none, and how many
// are held. If they could not be read, the last result stays.
func (o *others) look(ctx context.Context) (text string, held int, err error) {
	for _, other := range otherLeases {
		all, err := o.list(ctx, other.name)
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return "", 0, err
		}
		for _, l := range all {
			if l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" || !o.trusted(l.Namespace) {
				continue
			}
			held++
			if o.renewed(l.Namespace+"/"+l.Name, fmt.Sprint(*l.Spec.HolderIdentity, l.Spec.RenewTime)) {
				if text != "" {
					text += " and "
				}
				text += fmt.Sprintf("%s (lease %s/%s)", other.of, l.Namespace, l.Name)
			}
		}
	}
	return text, held, nil
}

// trusted reports whether Leases of a namespace count.
func (o *others) trusted(namespace string) bool {
	return namespace == o.w.opts.Namespace || slices.Contains(operatorNamespaces, namespace) || o.w.cache.others()
}

// renewed reports whether a Lease with the content text was recently seen to be renewed.
func (o *others) renewed(lease, text string) bool {
	before, known := o.seen[lease]
	now := renewal{text, before.at}
	if known && before.text != text {
		now.at = o.w.now()
	}
	o.seen[lease] = now
	return !now.at.IsZero() && o.w.now().Sub(now.at) < 12*o.w.timing.others
}

func (o *others) list(ctx context.Context, name string) ([]coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, o.w.timing.request)
	defer cancel()
	list, err := o.leases.Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if ctx.Err() == nil {
		o.w.log.result("leases of others", attempt{
			doing: "check whether Kuadrant's operators run in this cluster",
			grant: fmt.Sprintf("the verb list on leases.coordination.k8s.io with the resourceNames %s and %s; without it only the field "+
				"managers of objects show that", otherLeases[0].name, otherLeases[1].name),
		}, err)
	}
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// set notes who is at work, and logs changes.
func (o *others) set(text string) {
	before := o.atWork()
	o.work.Store(&text)
	switch {
	case text == before:
		return
	case text == "":
		o.w.log.info("%s has stopped; this replica now writes its objects, except statuses that the operator wrote; release those: docs/write-back.md", before)
	default:
		message := text + " runs in this cluster; leaving DNSPolicies, Gateways, DNSRecords and probes to Kuadrant's operators"
		o.w.log.warn("%s", message)
		o.w.lease.event("OtherController", message)
	}
	if k := o.w.leading(); k != nil {
		o.w.lookAtAll(k)
	}
}

// otherOf names another controller that writes an object's status; "" for none. No other controller
// writes Zones and Records, and many write Gateways' conditions.
func (w *Writer) otherOf(kind api.Kind, o *object) string {
	other := w.others.atWork()
	switch kind {
	case api.KindGateway:
		return other
	case api.KindDNSPolicy, api.KindDNSRecord, api.KindProbe:
		if other == "" && o.other != "" {
			return "field manager " + o.other
		}
		return other
	}
	return ""
}
