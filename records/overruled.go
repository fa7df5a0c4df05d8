package records

import "github.com/miekg/dns"

// overruled says which NS and DNAME records at a name are not served for what else there is.
// The fields are nil for nothing.
type overruled struct {
	// cut and dname stand for what NS and DNAME records would hide.
	cut, dname *claim
	// kept is that of occlusion.
	kept *entry
}

// overruled returns what of the records is not served; nil for nothing.
func (o *occlusion) overruled() *overruled {
	if o == nil {
		return nil
	}
	by := overruled{kept: o.kept}
	if o.cut != nil {
		by.cut = o.cut.outdone
	}
	if o.dname != nil {
		by.dname = o.dname.outdone
	}
	if by == (overruled{}) {
		return nil
	}
	return &by
}

// tellsAs tells whether both say the same.
func (v *overruled) tellsAs(o *overruled) bool {
	if v == nil || o == nil {
		return v == o
	}
	return v.kept == o.kept && v.cut.tellsAs(o.cut) && v.dname.tellsAs(o.dname)
}

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

// keepsFrom tells whether an entry is none of those on record, and would stand in for them.
func (v *overruled) keepsFrom(e *entry) bool {
	return v != nil && v.kept != nil && e.hidesNames() && !e.sameOwner(v.kept)
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
