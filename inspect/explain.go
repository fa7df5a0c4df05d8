package inspect

import (
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Question is one query, as somebody writes it.
type Question struct {
	Name string // with or without a final dot
	Type string // "" for A
	// From is where the client is: an address or a network; "" for a client of whom nothing is
	// known.
	From string
}

// Explain says how the answer to a question comes about. The error is a *RequestError.
func (v *View) Explain(q Question) (*records.Explanation, error) {
	query, z, err := v.query(q)
	if err != nil {
		return nil, err
	}
	if query.Client.IsValid() {
		query.Locator = v.Locator
		if query.Locator == nil && v.LocatorOf != nil {
			query.Locator = v.LocatorOf(query.Name)
		}
	}
	if v.Random != nil {
		query.Random = v.Random()
	}
	var a records.Answer
	return v.Snapshot.Explain(z, &query, &a), nil
}

// query returns what a question asks of a snapshot, and the zone that it asks. The error is a
// *RequestError.
func (v *View) query(q Question) (query records.Query, z *records.Zone, err error) {
	if query.Name, err = ParseName(q.Name); err != nil {
		return query, nil, err
	}
	query.Owner = query.Name
	if query.Type, err = ParseType(q.Type); err != nil {
		return query, nil, err
	}
	if query.Client, err = ParseClient(q.From); err != nil {
		return query, nil, err
	}
	z, err = v.zone(query.Name, query.Type)
	return query, z, err
}
