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

// otherManagers are the field managers of controllers that write the same objects: those of
// Kuadrant's operators are called after their binary.
var otherManagers = []string{"manager", "kuadrant-operator", "dns-operator"}

// isOther reports whether a field manager is that of a controller that writes what we would.
func isOther(manager string) bool { return slices.Contains(otherManagers, manager) }

// otherLeases are the Leases of controllers that write the same objects, by name.
var otherLeases = []struct{ name, of string }{
	{"f139389e.kuadrant.io", "kuadrant-operator"},
	{"a3f98d6c.kuadrant.io", "dns-operator"},
}

// operatorNamespaces are those in which Kuadrant's operators are installed by default. A Lease
// anywhere else may be a tenant's, who may make Leases and no statuses: it counts where the
// status of an object is written by such a controller, too.
var operatorNamespaces = []string{"kuadrant-system", "dns-operator-system", "openshift-operators"}

// others finds out whether other controllers are at work in the cluster, by their Leases: one
// that is renewed while this replica looks has somebody behind it. A Lease that nobody renews
// is what a controller that is gone has left behind, whatever time stands in it: clocks differ.
type others struct {
	w      *Writer
	leases typedcoordinationv1.LeasesGetter
	// work names those that are at work; nil for nobody.
	work atomic.Pointer[string]
	// seen is what stood in each Lease at the last look, and when that was seen to change.
	// They belong to the goroutine that looks.
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

// maxLooks is how often it is looked for other controllers, where the API server does not answer,
// before something is written nevertheless.
const maxLooks = 6

// begin looks for other controllers before anything is written. Where one has a Lease, it
// waits until that one must have renewed it: one look tells nothing of those. A look that fails
// tells nothing at all, and is taken again; where it is not allowed, that is no use.
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

// follow looks again and again until ctx ends.
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

// look looks at the Leases once, and returns who was seen to renew one, "" for nobody, and how many
// of them are held. Where they could not be read, what was known stays.
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

// renewed reports whether a Lease that says text was seen to be renewed of late.
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
		o.w.told.result("leases of others", attempt{
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

// set notes who is at work, and says so where that is new.
func (o *others) set(text string) {
	before := o.atWork()
	o.work.Store(&text)
	switch {
	case text == before:
		return
	case text == "":
		o.w.told.info("%s has stopped; this replica now writes its objects, except statuses that the operator wrote; release those: docs/write-back.md", before)
	default:
		message := text + " runs in this cluster; leaving DNSPolicies, Gateways, DNSRecords and probes to Kuadrant's operators"
		o.w.told.warn("%s", message)
		o.w.lease.event("OtherController", message)
	}
	if k := o.w.leading(); k != nil {
		o.w.lookAtAll(k)
	}
}

// otherOf names another controller that writes the status of an object; "" for none. Zones and
// Records are nobody else's, and Gateways have conditions of many.
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
