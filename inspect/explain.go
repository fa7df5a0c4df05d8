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
	name, err := ParseName(q.Name)
	if err != nil {
		return nil, err
	}
	rtype, err := ParseType(q.Type)
	if err != nil {
		return nil, err
	}
	client, err := ParseClient(q.From)
	if err != nil {
		return nil, err
	}
	z, err := v.zone(name, rtype)
	if err != nil {
		return nil, err
	}
	query := records.Query{Name: name, Owner: name, Type: rtype, Client: client}
	if client.IsValid() {
		query.Locator = v.Locator
	}
	if v.Random != nil {
		query.Random = v.Random()
	}
	var a records.Answer
	return v.Snapshot.Explain(z, &query, &a), nil
}
