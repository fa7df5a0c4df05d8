package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// lookAtChildren corrects the DNSRecords and probes of a policy, or the probes of a DNSRecord. It
// deletes those of a missing object.
func (w *Writer) lookAtChildren(ctx context.Context, says Says, of api.Ref) error {
	if w.opts.StatusOnly || !says.Listed(of.Kind) || w.others.atWork() != "" {
		return nil
	}
	if o := w.cache.get(of); o != nil && w.otherOf(of.Kind, o) != "" {
		return nil // its children are that controller's
	}
	known := says.Meta(of)
	if known != nil && known.Deleting {
		return nil // its children go with it
	}
	if known == nil && (w.unread(says, of) || w.cache.get(of) != nil) {
		return nil // the verdict is older than the object
	}
	wanted := make(map[api.Ref]struct{})
	var all error
	if known != nil {
		for _, c := range says.Children(of) {
			wanted[api.Ref{Kind: c.Kind, Name: c.Name}] = struct{}{}
			all = errors.Join(all, w.lookAtChild(ctx, says, &c))
		}
	}
	for _, ref := range w.cache.childrenOf(of) {
		if _, ok := wanted[ref]; ok || !says.Listed(ref.Kind) || !says.Settled(of) {
			continue
		}
		if o := w.cache.get(ref); o != nil && o.owner == of && !o.deleting {
			err := w.remove(ctx, ref, o)
			if err == nil {
				w.undone.end(ref, o.ownerUID)
			}
			all = errors.Join(all, w.tell(ref, "delete", err))
		}
	}
	return all
}

// unread reports whether an unknown object may exist: a policy that another deployment reads.
// deployment reads.
func (w *Writer) unread(says Says, of api.Ref) bool {
	return w.opts.Selected && of.Kind == api.KindDNSPolicy && says.Meta(of) == nil
}

// lookAtChild corrects one of our own objects.
func (w *Writer) lookAtChild(ctx context.Context, says Says, c *api.Child) error {
	ref := api.Ref{Kind: c.Kind, Name: c.Name}
	owner := w.cache.get(api.Ref{Kind: c.Owner.Kind, Name: c.Owner.Name})
	if !says.Listed(c.Kind) || owner == nil || owner.uid != c.Owner.UID {
		return nil // its state or its owner is unknown
	}
	p := &write{ref: ref, ownerUID: owner.uid, field: "spec", metadata: map[string]any{
		"labels":          c.Labels,
		"ownerReferences": []any{ownerReference(c, owner)},
	}}
	o := w.cache.get(ref)
	if o != nil {
		p.apiVersion, p.uid, p.version = o.apiVersion, o.uid, o.version
	} else if version := w.cache.version(c.Kind); version != "" {
		p.apiVersion = c.Kind.APIVersion(version)
	} else {
		return nil
	}
	spec, err := plain(c.Spec())
	if err != nil {
		return err
	}
	w.lacks.drop(p, spec)
	p.value, p.settled = spec, digest(spec)
	switch {
	case o == nil:
		return w.tell(ref, "create", w.apply(ctx, p))
	case !o.child(), o.ownerUID != c.Owner.UID && w.unread(says, o.owner):
		whose := "was not made by this server; rename one of them"
		if o.child() {
			whose = fmt.Sprintf("belongs to %s %s, which is not read here", o.owner.Kind, o.owner.Name)
		}
		w.log.once(about+"name "+c.Kind.String()+" "+c.Name, "%s %s of %s %s is not written: an object of that name exists and %s",
			c.Kind, c.Name, c.Owner.Kind, c.Owner.Name, whose)
		return nil
	case o.deleting:
		return nil
	case c.Replace && o.uid == c.Replaced || o.ownerUID != c.Owner.UID:
		return w.tell(ref, "delete", w.remove(ctx, ref, o)) // the next one is made once it is gone
	case c.Replace:
		return nil // the replaced one is gone, and the verdict is older than the object
	case (o.spec == p.settled || o.settled == p.settled) && o.hasLabels(c.Labels):
		return nil
	}
	return w.tell(ref, "write", w.apply(ctx, p))
}

// ownerReference returns a child's reference to its owner.
func ownerReference(c *api.Child, owner *object) map[string]any {
	_, name := splitName(c.Owner.Name)
	return map[string]any{
		"apiVersion": owner.apiVersion, "kind": c.Owner.Kind.String(), "name": name, "uid": owner.uid, "controller": true,
	}
}

// hasLabels reports whether an object has all given labels.
func (o *object) hasLabels(labels map[string]string) bool {
	for key, value := range labels {
		if o.labels[key] != value {
			return false
		}
	}
	return true
}

// writeStatus is the action of writing a status.
const writeStatus = "write the status of"

// tell notes a write's result, for the log, and returns err. An object's status is tracked apart
// from its other writes: neither says anything about the other.
func (w *Writer) tell(ref api.Ref, verb string, err error) error {
	resource, part := ref.Kind.FullResource(), about+ref.Kind.String()+" "+ref.Name
	if verb == writeStatus {
		part = about + "status of " + ref.Kind.String() + " " + ref.Name
	}
	switch sort := classify(err); sort {
	case conflict, missing, lost, ending:
		return err // the watch reports changes and ending namespaces
	case refused, contested, undoing, none:
		w.log.result(part, attempt{doing: fmt.Sprintf("%s %s %s", verb, ref.Kind, ref.Name)}, err)
		if sort != none {
			return err
		}
	}
	w.log.result(verb+" "+resource, attempt{
		doing: fmt.Sprintf("%s %s", verb, resource),
		grant: fmt.Sprintf("the verbs create, patch and delete on %s and patch on its status, or set `write-back off`", resource),
	}, err)
	return err
}
