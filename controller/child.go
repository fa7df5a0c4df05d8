package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// lookAtChildren brings the DNSRecords and probes of a policy, or the probes of a DNSRecord, in
// line with what it should have. Those of an object that is gone are deleted.
func (w *Writer) lookAtChildren(ctx context.Context, says Says, of api.Ref) error {
	if w.opts.StatusOnly || !says.Listed(of.Kind) || w.others.atWork() != "" {
		return nil
	}
	if o := w.standing.get(of); o != nil && w.otherOf(of.Kind, o) != "" {
		return nil // what it has is that controller's to write
	}
	known := says.Meta(of)
	if known != nil && known.Deleting {
		return nil // what it owns goes with it
	}
	if known == nil && (w.opts.Selected && of.Kind == api.KindDNSPolicy || w.standing.get(of) != nil) {
		return nil // it is there, and what is said is not as new as that
	}
	wanted := make(map[api.Ref]struct{})
	var all error
	if known != nil {
		for _, c := range says.Children(of) {
			wanted[api.Ref{Kind: c.Kind, Name: c.Name}] = struct{}{}
			all = errors.Join(all, w.lookAtChild(ctx, says, &c))
		}
	}
	for _, ref := range w.standing.childrenOf(of) {
		if _, ok := wanted[ref]; ok || !says.Listed(ref.Kind) || !says.Settled(of) {
			continue
		}
		if o := w.standing.get(ref); o != nil && o.owner == of && !o.deleting {
			all = errors.Join(all, w.tell(ref, "delete", w.remove(ctx, ref, o)))
		}
	}
	return all
}

// lookAtChild makes one object of our own what it should be.
func (w *Writer) lookAtChild(ctx context.Context, says Says, c *api.Child) error {
	ref := api.Ref{Kind: c.Kind, Name: c.Name}
	owner := w.standing.get(api.Ref{Kind: c.Owner.Kind, Name: c.Owner.Name})
	if !says.Listed(c.Kind) || owner == nil || owner.uid != c.Owner.UID {
		return nil // what stands there is not known, or whose it is to be
	}
	spec, err := plain(c.Spec(true))
	if err != nil {
		return err
	}
	p := &write{ref: ref, field: "spec", value: spec, settled: digest(spec), metadata: map[string]any{
		"labels":          c.Labels,
		"ownerReferences": []any{ownerReference(c, owner)},
	}}
	o := w.standing.get(ref)
	switch {
	case o == nil:
		if p.apiVersion = w.standing.version(c.Kind); p.apiVersion == "" {
			return nil
		}
		p.apiVersion = c.Kind.APIVersion(p.apiVersion)
		return w.tell(ref, "create", w.apply(ctx, p))
	case !o.child():
		w.told.once(w, about+"name "+c.Kind.String()+" "+c.Name, "%s %s of %s %s is not written: there is one of that name already, which is somebody else's; rename either", c.Kind, c.Name, c.Owner.Kind, c.Owner.Name)
		return nil
	case o.deleting:
		return nil
	case c.Replace || o.ownerUID != c.Owner.UID:
		return w.tell(ref, "delete", w.remove(ctx, ref, o)) // what comes next is made once it is gone
	case (o.spec == p.settled || o.settled == p.settled) && o.hasLabels(c.Labels):
		return nil
	}
	p.apiVersion, p.uid, p.version = o.apiVersion, o.uid, o.version
	return w.tell(ref, "write", w.apply(ctx, p))
}

// ownerReference returns the reference to the object that a child belongs to.
func ownerReference(c *api.Child, owner *object) map[string]any {
	_, name := splitName(c.Owner.Name)
	return map[string]any{
		"apiVersion": owner.apiVersion, "kind": c.Owner.Kind.String(), "name": name, "uid": owner.uid, "controller": true,
	}
}

// hasLabels tells whether an object has all of the given labels.
func (o *object) hasLabels(labels map[string]string) bool {
	for key, value := range labels {
		if o.labels[key] != value {
			return false
		}
	}
	return true
}

// tell notes how a write went, for the log, and returns err.
func (w *Writer) tell(ref api.Ref, verb string, err error) error {
	resource := ref.Kind.FullResource()
	switch classify(err) {
	case conflict, missing, lost:
		return err // what has changed is told by the watch
	case refused, contested, undoing:
		w.told.result(w, about+ref.Kind.String()+" "+ref.Name, attempt{doing: fmt.Sprintf("%s %s %s", verb, ref.Kind, ref.Name)}, err)
		return err
	case none:
		w.told.result(w, about+ref.Kind.String()+" "+ref.Name, attempt{doing: fmt.Sprintf("%s %s %s", verb, ref.Kind, ref.Name)}, nil)
	}
	w.told.result(w, verb+" "+resource, attempt{
		doing: fmt.Sprintf("%s %s", verb, resource),
		grant: fmt.Sprintf("the verbs create, patch and delete on %s and patch on its status, or write the property `write-back off`", resource),
	}, err)
	return err
}
