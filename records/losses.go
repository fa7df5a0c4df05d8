package records

// Loss is how many names with data a zone had, and how many of them are in no zone any more.
type Loss struct{ Names, Gone int }

// Exceeds reports whether more than percent of the names are gone.
func (l Loss) Exceeds(percent int) bool { return l.Gone*100 > l.Names*percent }

// Losses counts the names with data in s that after lacks, by the origins of the zones in s that lose any. Names with data are the hosts of
// policies and the names of Records, DNSRecords and DNSEndpoints, each once; the names of chains (rule 2.3), empty non-terminals, hosts
// without an address and names that only the Corefile gives data do not count. It takes time in proportion to the names of the zones that
// differ.
func (s *Snapshot) Losses(after *Snapshot) map[string]Loss {
	losses := make(map[string]Loss)
	for i, z := range s.Served {
		if i < len(after.Served) && after.Served[i] == z {
			continue
		}
		l := Loss{}
		for name, n := range z.Nodes.All() {
			if !n.HasData() {
				continue
			}
			if l.Names++; !after.hasData(name) {
				l.Gone++
			}
		}
		if l.Gone > 0 {
			losses[z.Origin()] = l
		}
	}
	return losses
}

// hasData reports whether name, in lower case with a final dot, has data as Losses counts it.
func (s *Snapshot) hasData(name string) bool {
	z := s.Zone(name)
	if z == nil {
		return false
	}
	n := z.Node(name)
	return n != nil && n.HasData()
}
