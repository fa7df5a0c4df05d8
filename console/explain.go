package console

import (
	"hash/fnv"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// explained is the body of the page explain.
type explained struct {
	Asked       inspect.Question
	Wrong       string // what is wrong with the question; "" for nothing
	Explanation *records.Explanation
}

func explainPage(v inspect.View, q query) (*made, error) {
	body := explained{Asked: inspect.Question{Name: q["name"], Type: q["type"], From: q["from"]}}
	if body.Asked.Type == "" {
		body.Asked.Type = "A"
	}
	m := &made{title: "Explain an answer"}
	if q["name"] == "" && len(q) == 0 {
		m.body = body
		return m, nil
	}
	x, err := explain(v, body.Asked)
	if of, ok := inspect.IsRequest(err); ok { // the form stays, with what is in it
		body.Wrong, m.code = of.Error(), http.StatusBadRequest
		if of.NotFound {
			m.code = http.StatusNotFound
		}
	} else if err != nil {
		return nil, err
	}
	body.Explanation = x
	m.body = body
	if x != nil {
		m.title, m.status = "Why "+x.Name+" is answered so", inspect.AnswerText(x)
		m.data = []link{{pathOf(PathExplain, "name", body.Asked.Name, "type", body.Asked.Type, "from", body.Asked.From), "this page"}}
	}
	return m, nil
}

// explain explains the answer to a question, of the same draw each time: a page that is looked at again every two
// seconds does not change unless what it shows does, and the API has the same.
func explain(v inspect.View, q inspect.Question) (*records.Explanation, error) {
	v.Random = func() uint64 { return drawOf(q) }
	return v.Explain(q)
}

// drawOf returns the draw of a question, however it is written.
func drawOf(q inspect.Question) uint64 {
	rtype, _ := inspect.ParseType(q.Type)
	name, _ := inspect.ParseName(q.Name)
	h := fnv.New64a()
	for _, part := range []string{name, strconv.Itoa(int(rtype)), strings.TrimSpace(q.From)} {
		_, _ = io.WriteString(h, part+"\n")
	}
	return h.Sum64()
}
