package inspect

import "slices"

// unionHere returns the data of all our ends, in order.
func (p *pair) unionHere() []string {
	all := slices.Concat(p.here.Answers...)
	slices.Sort(all)
	return slices.Compact(all)
}

// within reports whether all of part is in set.
func within(part, set []string) bool { return len(minus(part, set)) == 0 }

// atOnce says so where the other server answers at once with addresses that come by several draws here; all is true where
// these are the addresses of all draws. The text is "" elsewhere.
func (p *pair) atOnce() (text string, all bool) {
	there, here := p.there.Answers[0], p.unionHere()
	switch {
	case !within(there, here) || slices.ContainsFunc(p.here.Answers, func(set []string) bool { return within(there, set) }):
		return "", false
	case len(there) == len(here):
		return "these are the same addresses: there all at once, here those of one member for each draw", true
	}
	return "there the addresses of several members come at once, here those of one member for each draw", false
}

// tellParts says so where the other server answers with a part of our addresses at a time, of which all together are ours.
// The differences are in order.
func tellParts(all []Difference) {
	for i := 0; i < len(all); {
		d, end := &all[i], i+1
		for end < len(all) && all[end].Name == d.Name && all[end].Type == d.Type {
			end++
		}
		tellPartsOf(all[i:end])
		i = end
	}
}

// tellPartsOf is tellParts for one name and type.
func tellPartsOf(all []Difference) {
	isPart := func(d *Difference, here []string) bool {
		return d.Kind == DiffersAddresses && len(d.Here.Answers) == 1 && slices.Equal(d.Here.Answers[0], here) && within(d.There.Answers[0], here)
	}
	first := slices.IndexFunc(all, func(d Difference) bool { return len(d.Here.Answers) == 1 && isPart(&d, d.Here.Answers[0]) })
	if first < 0 {
		return
	}
	here := all[first].Here.Answers[0]
	var there []string
	for i := range all {
		if isPart(&all[i], here) {
			there = append(there, all[i].There.Answers[0]...)
		}
	}
	if !within(here, there) {
		return
	}
	for i := range all {
		if d := &all[i]; isPart(d, here) {
			d.Why = append([]string{"these are the same addresses: here all at once, there a part of them in each answer"}, d.Why...)
		}
	}
}
