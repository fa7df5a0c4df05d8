package records

import (
	"maps"

	"github.com/miekg/dns"
)

// overruled says which NS and DNAME records at a name are not served for what else there is.
// The fields are nil for nothing.
type overruled struct {
	// cut and dname stand for what NS and DNAME records would hide.
	cut, dname *claim
	// kept and waits are those of occlusion.
	kept  *entry
	waits map[*entry]*problem
}

// overruled returns what of the records is not served; nil for nothing.
func (o *occlusion) overruled() *overruled {
	if o == nil {
		return nil
	}
	by := overruled{kept: o.kept, waits: o.waits}
	if o.cut != nil {
		by.cut = o.cut.outdone
	}
	if o.dname != nil {
		by.dname = o.dname.outdone
	}
	if by.cut == nil && by.dname == nil && by.kept == nil && by.waits == nil {
		return nil
	}
	return &by
}

// tellsAs tells whether both say the same.
func (v *overruled) tellsAs(o *overruled) bool {
	if v == nil || o == nil {
		return v == o
	}
	return v.kept == o.kept && v.cut.tellsAs(o.cut) && v.dname.tellsAs(o.dname) && maps.EqualFunc(v.waits, o.waits, (*problem).equal)
}

// waitsFor returns why an entry waits; nil where it does not.
func (v *overruled) waitsFor(e *entry) *problem {
	if v == nil {
		return nil
	}
	return v.waits[e]
}

// settled tells whether an entry is of a type that hides names, and has prevailed over all
// who have its name.
func (v *overruled) settled(e *entry) bool { return e.hidesNames() && v.against(e) == nil }

// against returns what an entry would hide that is older; nil for nothing.
func (v *overruled) against(e *entry) *claim {
	switch {
	case v == nil || !e.hidesNames():
		return nil
	case e.rr.Header().Rrtype == dns.TypeNS:
		return v.cut
	}
	return v.dname
}

// keeps tells whether an entry is one of those on record.
func (v *overruled) keeps(e *entry) bool {
	return v != nil && v.kept != nil && e.hidesNames() && e.sameOwner(v.kept)
}

// keepsFrom tells whether an entry is none of those on record, and would stand in for them,
// or keep them out where they have prevailed over all that they hide: beside a CNAME nothing
// can stand.
func (v *overruled) keepsFrom(e *entry) bool {
	if v == nil || v.kept == nil || e.sameOwner(v.kept) {
		return false
	}
	return e.hidesNames() || isCNAME(e.rr) && v.against(v.kept) == nil
}

// hide makes by what is held against the NS and DNAME records at a name; nil is nothing.
func (e *zoneEdit) hide(name string, by *overruled) {
	if e.hidden == nil {
		e.hidden = e.zone.hidden.Edit()
	}
	if by == nil {
		e.hidden.Delete(name)
	} else {
		e.hidden.Set(name, by)
	}
	if e.node(name) != nil {
		e.renew(e.make(name))
	}
}
