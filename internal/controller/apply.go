package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// serializer reads the API server's errors; request bodies need none.
var serializer = scheme.Codecs.WithoutConversion()

// write is one request that changes an object.
type write struct {
	ref        api.Ref
	apiVersion string
	// uid and version are the object's: the API server refuses the write if it is another one, or
	// has changed. "" for a new object.
	uid, version string
	ownerUID     string         // of the owner of a child; "" for none
	subresource  string         // "" for the object itself
	metadata     map[string]any // labels and ownerReferences; nil for none
	field        string         // spec or status; "" for neither
	value        any            // its value
	settled      string         // digest of the content without times
}

// form is the schema of the write.
func (p *write) form() string { return p.apiVersion + " " + p.ref.Kind.String() + " " + p.field }

// path returns an object's path, with the subresource, if any.
func path(ref api.Ref, apiVersion, subresource string) string {
	ns, name := splitName(ref.Name)
	p := "/apis/" + apiVersion + "/namespaces/" + ns + "/" + ref.Kind.Resource() + "/" + name
	if subresource != "" {
		p += "/" + subresource
	}
	return p
}

// apply sends a write by server-side apply. The watch reports the result. Fields of other managers stay theirs, except a Gateway's
// condition: it is kuadrant-operator's, which is not at work where this is written, and nothing can release it; and a Zone's status:
// a serial that is never kept is never shown (rule 6.7).
func (w *Writer) apply(ctx context.Context, p *write) error {
	value, err := plain(p.value)
	if err != nil {
		return err
	}
	if err := w.undone.check(p, w.now()); err != nil {
		return err
	}
	for {
		lacked := w.lacks.of(p)
		w.lacks.drop(p, value)
		err := w.applyOnce(ctx, p, value)
		field, ok := undeclared(err, p.field)
		if !ok {
			if sort := classify(err); sort == none || sort == contested {
				w.cache.wrote(p)
			}
			return err
		}
		// Someone else's CRD, with fewer fields than ours.
		if slices.Contains(lacked, field) {
			return err
		}
		w.lacks.add(p, field)
	}
}

func (w *Writer) applyOnce(ctx context.Context, p *write, value any) error {
	ns, name := splitName(p.ref.Name)
	metadata := map[string]any{"namespace": ns, "name": name}
	for key, v := range p.metadata {
		metadata[key] = v
	}
	if p.uid != "" {
		metadata["uid"], metadata["resourceVersion"] = p.uid, p.version
	}
	body := map[string]any{"apiVersion": p.apiVersion, "kind": p.ref.Kind.String(), "metadata": metadata}
	if p.field != "" {
		body[p.field] = value
	}
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", p.ref.Kind, p.ref.Name, err)
	}
	if p.uid == "" && !w.cache.make(p) {
		return nil
	}
	force := p.ref.Kind == api.KindGateway || p.ref.Kind == api.KindZone && p.subresource == "status"
	err = w.send(ctx, func(ctx context.Context) error {
		return w.client.Patch(types.ApplyYAMLPatchType).AbsPath(path(p.ref, p.apiVersion, p.subresource)).
			Param("fieldManager", FieldManager).Param("force", fmt.Sprint(force)).
			MaxRetries(0).Body(text).Do(ctx).Error() // reads the server's message
	})
	if err != nil {
		if p.uid == "" {
			w.cache.notMade(p.ref)
		}
		return err
	}
	w.undone.note(p)
	return nil
}

// remove deletes an object, if it is the given one. The watch reports its end.
func (w *Writer) remove(ctx context.Context, ref api.Ref, o *object) error {
	options, err := json.Marshal(metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: (*types.UID)(&o.uid), ResourceVersion: &o.version},
	})
	if err != nil {
		return err
	}
	err = w.send(ctx, func(ctx context.Context) error {
		return w.client.Delete().AbsPath(path(ref, o.apiVersion, "")).MaxRetries(0).Body(options).Do(ctx).Error()
	})
	if err != nil && classify(err) != missing {
		return err
	}
	w.cache.removed(ref, o.uid)
	return nil
}

// send sends one request in its turn, if this replica may write then, and for as long as it may.
func (w *Writer) send(ctx context.Context, request func(context.Context) error) error {
	if err := w.limit.Wait(ctx); err != nil {
		return errLost // the writer ends
	}
	left, ok := w.lease.left()
	if !ok {
		return errLost
	}
	timed, cancel := context.WithTimeout(ctx, min(w.timing.request, left))
	defer cancel()
	w.requests.Add(1)
	err := request(timed)
	if err != nil && ctx.Err() != nil {
		return errLost // cut short; not an error
	}
	return err
}

// undeclaredField finds, in the API server's message, the field that a schema lacks.
var undeclaredField = regexp.MustCompile(`\.((?:spec|status)(?:\.[a-zA-Z]+)+): field not declared in schema`)

// undeclared returns the path, below the given field, that the installed CRD's schema does not
// declare; ok is false if err is another error.
func undeclared(err error, field string) (path string, ok bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code == http.StatusConflict {
		return "", false
	}
	found := undeclaredField.FindStringSubmatch(status.Status().Message)
	if found == nil {
		return "", false
	}
	return strings.CutPrefix(found[1], field+".")
}

// lacks are the fields that the installed CRDs do not declare, by kind and version.
type lacks struct {
	mu     sync.Mutex
	fields map[string][]string
}

func (l *lacks) of(p *write) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fields[p.form()]
}

// drop removes fields that cannot be written from a value, as plain returns it.
func (l *lacks) drop(p *write, value any) {
	for _, field := range l.of(p) {
		drop(value, field)
	}
}

// add notes one more field; concurrent writes may add others.
func (l *lacks) add(p *write, field string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.fields[p.form()]
	if slices.Contains(all, field) {
		return
	}
	if l.fields == nil {
		l.fields = make(map[string][]string)
	}
	l.fields[p.form()] = append(slices.Clip(all), field)
}

// clear forgets the fields: another version of a CRD may have them.
func (l *lacks) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fields = nil
}

// drop removes the field at a dotted path from a value, as plain returns it; in lists, from each
// element.
func drop(value any, path string) {
	first, rest, deeper := strings.Cut(path, ".")
	switch v := value.(type) {
	case map[string]any:
		if !deeper {
			delete(v, first)
			return
		}
		drop(v[first], rest)
	case []any:
		for _, e := range v {
			drop(e, path)
		}
	}
}

// plain returns a value as maps, lists, strings, numbers and bools.
func plain(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var v any
	err = json.Unmarshal(text, &v)
	return v, err
}

// digest returns a digest that identifies a plain value.
func digest(value any) string {
	text, err := json.Marshal(value) // the keys of maps are sorted
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return string(sum[:16])
}

// digestOf returns the digest of a value in JSON; "" if it is not JSON.
func digestOf(data []byte) string {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return ""
	}
	return digest(v)
}
