package controller

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	kubizone "github.com/coredns-kuadrant/kuadrant/api/kubizone/v1alpha1"
)

// look corrects one object, and its children, to match the verdict.
func (w *Writer) look(ctx context.Context, ref api.Ref) error {
	says := w.newest()
	if says == nil {
		return nil
	}
	var err error
	if ref.Kind == api.KindDNSPolicy || ref.Kind == api.KindDNSRecord {
		err = w.lookAtChildren(ctx, says, ref)
	}
	if ref.Kind == api.KindZone || ref.Kind == api.KindRecord {
		var wrote bool
		if wrote, err = w.lookAtLabel(ctx, says, ref); wrote {
			return nil // the watch reports the version to write to
		}
	}
	return errors.Join(err, w.lookAtStatus(ctx, says, ref))
}

// pair returns an object and its verdict; nil if either is missing: it comes later, and is looked at then.
func (w *Writer) pair(says Says, ref api.Ref) (*object, *Report) {
	o, report := w.cache.get(ref), says.Of(ref)
	if o == nil || report == nil || o.deleting || report.Deleting || o.uid != report.UID {
		return nil, nil
	}
	return o, report
}

// lookAtStatus writes an object's status if it differs.
func (w *Writer) lookAtStatus(ctx context.Context, says Says, ref api.Ref) error {
	form := forms[ref.Kind]
	o, report := w.pair(says, ref)
	if form == nil || o == nil {
		return nil
	}
	if other := w.otherOf(ref.Kind, o); other != "" {
		if w.others.atWork() == "" { // else that was logged
			w.log.once("other "+ref.Kind.String(), "%s %s: %s wrote its status; leaving it, and others like it. "+
				"If that controller is gone for good, release them: docs/write-back.md", ref.Kind, ref.Name, other)
		}
		return nil
	}
	if zone, ok := o.status.(*kubizone.ZoneStatus); ok && keptIn(zone) != report.Before {
		return nil // another serial is kept: a new verdict is on its way
	}
	p := &write{
		ref: ref, apiVersion: o.apiVersion, uid: o.uid, version: o.version,
		subresource: "status", field: "status", value: form.make(report, o.status, w.now()),
	}
	if o.status != nil && same(w.declared(p, form), o.status) {
		return nil
	}
	timeless, err := plain(form.make(report, o.status, time.Time{}))
	if err != nil {
		return err
	}
	p.settled = digest(timeless)
	if o.settled == p.settled {
		return nil // the API server stores it differently
	}
	return w.tell(ref, writeStatus, w.apply(ctx, p))
}

// declared returns the status that p would write, less fields that the installed CRD does not
// declare.
func (w *Writer) declared(p *write, form form) any {
	if len(w.lacks.of(p)) == 0 {
		return p.value
	}
	value, err := plain(p.value)
	if err != nil {
		return p.value
	}
	w.lacks.drop(p, value)
	text, err := json.Marshal(value)
	if err != nil {
		return p.value
	}
	return form.read(text)
}

// lookAtLabel writes the label with the object's Zone, and reports whether it did.
func (w *Writer) lookAtLabel(ctx context.Context, says Says, ref api.Ref) (wrote bool, err error) {
	o, report := w.pair(says, ref)
	if w.opts.StatusOnly || o == nil {
		return false, nil
	}
	label := report.ParentLabel()
	if label == o.parent {
		return false, nil
	}
	labels := map[string]any{}
	if label != "" {
		labels[labelParentZone] = label
	}
	p := &write{ref: ref, apiVersion: o.apiVersion, uid: o.uid, version: o.version, metadata: map[string]any{"labels": labels}}
	if p.settled = digest(labels); o.settled == p.settled {
		return false, nil
	}
	err = w.apply(ctx, p)
	return err == nil, w.tell(ref, "label", err)
}
