package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// checkKeys looks at whether the parent's DS records match each name server's keys (RFC 4035 §5).
func (d *Delegation) checkKeys(found report) {
	var all []*dns.DS
	known := false
	for i := range d.Parents {
		p := &d.Parents[i]
		if !p.knowsDS() {
			continue
		}
		known = true
		for _, ds := range p.DS {
			if len(all) < mostKeys && !slices.ContainsFunc(all, func(o *dns.DS) bool { return dns.IsDuplicate(o, ds) }) {
				all = append(all, ds)
			}
		}
	}
	if !known {
		return
	}
	for i := range d.Parents {
		if p := &d.Parents[i]; p.knowsDS() && len(p.DS) != len(all) {
			found(SeverityWarning, ReasonDS, "the parent's servers have different DS records: %s has %s, all of them together %d", p.Server,
				counted(len(p.DS), "record"), len(all))
		}
	}
	used := slices.DeleteFunc(slices.Clone(all), func(ds *dns.DS) bool { return !usual(ds) })
	for _, ds := range all {
		if !usual(ds) {
			found(SeverityWarning, ReasonDS, "the parent's DS record %d %d %d has an unknown algorithm or digest; skipping it",
				ds.KeyTag, ds.Algorithm, ds.DigestType)
		}
	}
	if all = used; len(all) == 0 && slices.ContainsFunc(d.Parents, func(p ParentReply) bool { return p.knowsDS() && len(p.DS) > 0 }) {
		return // validators that know none of them treat the zone as unsigned (RFC 4035 §5.2)
	}
	for i := range d.Servers {
		if s := &d.Servers[i]; s.Err == nil && s.SOA != nil {
			d.checkKeysOf(s, all, found)
		}
	}
}

// knowsDS reports whether the DS records of a server of the parent are known.
func (p *ParentReply) knowsDS() bool {
	return p.Err == nil && p.DSErr == nil && len(p.DS) <= mostKeys && len(p.NS) > 0 && !p.Resolves
}

// usual reports whether a DS record has kinds that can be checked here, as most validators can.
func usual(ds *dns.DS) bool {
	switch ds.DigestType {
	case dns.SHA1, dns.SHA256, dns.SHA384:
	default:
		return false
	}
	switch ds.Algorithm {
	case dns.RSASHA1, dns.RSASHA1NSEC3SHA1, dns.RSASHA256, dns.RSASHA512, dns.ECDSAP256SHA256, dns.ECDSAP384SHA384, dns.ED25519:
		return true
	}
	return false
}

// checkKeysOf looks at the keys and signatures of one name server.
func (d *Delegation) checkKeysOf(s *ServerReply, all []*dns.DS, found report) {
	switch {
	case len(all) == 0 && len(s.Keys) == 0:
		return
	case len(s.Keys) > mostKeys:
		found(SeverityWarning, ReasonDS, "the name server %s has %d DNSKEY records; only %d are checked", s.at(), len(s.Keys), mostKeys)
		return
	case len(all) == 0:
		found(SeverityWarning, ReasonNoDS, "the zone is signed, but the parent has no DS record, so nobody validates it. Its DS records "+
			"are %s", strings.Join(d.wantedDS(s), "; "))
		return
	case len(s.Keys) == 0:
		found(SeverityError, ReasonDS, "the parent has %s, but the name server %s has no DNSKEY; the zone is bogus for resolvers that "+
			"validate. Remove the DS at the parent at once, or sign the zone here", counted(len(all), "DS record"), s.at())
		return
	}
	trusted := false
	for _, ds := range all {
		if hasKey(s.Keys, ds) {
			trusted = true
			continue
		}
		found(SeverityWarning, ReasonDS, "no key at %s matches the parent's DS record %d %d %d; it is that of an old or a future "+
			"key", s.at(), ds.KeyTag, ds.Algorithm, ds.DigestType)
	}
	if !trusted {
		found(SeverityError, ReasonDS, "no DS record of the parent matches a key of the name server %s; the zone is bogus for resolvers "+
			"that validate. The parent needs %s", s.at(), strings.Join(d.wantedDS(s), "; "))
		return
	}
}

// hasKey reports whether one of keys belongs to a DS record.
func hasKey(keys []*dns.DNSKEY, ds *dns.DS) bool {
	for _, k := range keys {
		if k.KeyTag() != ds.KeyTag || k.Algorithm != ds.Algorithm || k.Flags&dns.ZONE == 0 || k.Flags&dns.REVOKE != 0 {
			continue
		}
		if made := k.ToDS(ds.DigestType); made != nil && strings.EqualFold(made.Digest, ds.Digest) {
			return true
		}
	}
	return false
}

// mostKeys bounds the DS records and keys compared, each with each.
const mostKeys = 64

// wantedDS returns the DS records that the parent should have for a name server's keys: SHA-256 digests of those
// that sign keys (RFC 8624 §3.3).
func (d *Delegation) wantedDS(s *ServerReply) (all []string) {
	for _, k := range s.Keys {
		if k.Flags&dns.REVOKE != 0 || k.Flags&dns.SEP == 0 &&
			slices.ContainsFunc(s.Keys, func(o *dns.DNSKEY) bool { return o.Flags&dns.SEP != 0 }) {
			continue
		}
		if ds := k.ToDS(dns.SHA256); ds != nil {
			all = append(all, fmt.Sprintf("%d %d %d %s", ds.KeyTag, ds.Algorithm, ds.DigestType, strings.ToUpper(ds.Digest)))
		}
	}
	return all
}
