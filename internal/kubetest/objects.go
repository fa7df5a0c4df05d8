package kubetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// fieldManager is the field manager of Apply's writes.
const fieldManager = "kubetest"

// cachedDeadline bounds how far the server's cache may lag.
const cachedDeadline = 30 * time.Second

// clients are the admin's clients of the server.
type clients struct {
	typed   *kubernetes.Clientset
	dynamic *dynamic.DynamicClient
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

func newClients(config *rest.Config) (*clients, error) {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(typed.Discovery()))
	return &clients{typed: typed, dynamic: dyn, mapper: mapper}, nil
}

// Resource returns the admin's client for obj's kind, in obj's namespace. It fails the test if the
// server does not serve the kind.
func (s *Server) Resource(t testing.TB, obj *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	r, err := s.resource(obj)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *Server) resource(obj *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := obj.GroupVersionKind()
	m, err := s.clients.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		s.clients.mapper.Reset()
		m, err = s.clients.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("find resource of %s: %w", kind, err)
	}
	if m.Scope.Name() != meta.RESTScopeNameNamespace {
		return s.clients.dynamic.Resource(m.Resource), nil
	}
	return s.clients.dynamic.Resource(m.Resource).Namespace(obj.GetNamespace()), nil
}

// Parse decodes the objects of a YAML text of one or more documents.
func Parse(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	objs, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

func parse(text string) ([]*unstructured.Unstructured, error) {
	var objs []*unstructured.Unstructured
	docs := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return objs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("split YAML: %w", err)
		}
		doc, err = yaml.YAMLToJSON(doc)
		if err != nil {
			return nil, fmt.Errorf("read YAML: %w", err)
		}
		obj := new(unstructured.Unstructured)
		if err := utiljson.Unmarshal(doc, &obj.Object); err != nil { // whole numbers as int64, as from the server
			return nil, fmt.Errorf("read YAML: %w", err)
		}
		if len(obj.Object) > 0 {
			objs = append(objs, obj)
		}
	}
}

// Apply writes the objects of a YAML text as they are, the status through the status subresource if
// there is one. An object without a namespace goes to `default`; missing namespaces are created. It
// fails the test if the server refuses an object. A list that begins afterwards has the objects as
// written. They are deleted when the test ends.
func (s *Server) Apply(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	return s.apply(t, "", text)
}

// ApplyIn is Apply with every object put into the given namespace.
func (s *Server) ApplyIn(t testing.TB, namespace, text string) []*unstructured.Unstructured {
	t.Helper()
	return s.apply(t, namespace, text)
}

func (s *Server) apply(t testing.TB, namespace, text string) []*unstructured.Unstructured {
	t.Helper()
	objs := Parse(t, text)
	for i, obj := range objs {
		if namespace != "" || obj.GetNamespace() == "" {
			obj.SetNamespace(namespace)
			if namespace == "" {
				obj.SetNamespace(metav1.NamespaceDefault)
			}
		}
		written, err := s.applyOne(t.Context(), obj)
		if err != nil {
			t.Fatalf("apply %s %s/%s: %v", obj.GetKind(), obj.GetNamespace(), obj.GetName(), err)
		}
		t.Cleanup(func() { s.delete(t, obj) })
		objs[i] = written
	}
	s.AwaitCached(t, objs...)
	return objs
}

// AwaitCached waits until the server's cache has objects as their writes returned them, and all
// earlier writes to their kinds: the lists that watches begin with come from that cache, which lags
// by milliseconds. It fails the test if that takes more than cachedDeadline.
func (s *Server) AwaitCached(t testing.TB, objs ...*unstructured.Unstructured) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cachedDeadline)
	defer cancel()
	for _, obj := range objs {
		// A read that names a version waits for it, three seconds at most.
		var err error
		for again := true; again; again = apierrors.IsTimeout(err) && ctx.Err() == nil {
			_, err = s.Resource(t, obj).Get(ctx, obj.GetName(), metav1.GetOptions{ResourceVersion: obj.GetResourceVersion()})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatalf("read %s %s/%s as it was written: %v", obj.GetKind(), obj.GetNamespace(), obj.GetName(), err)
		}
	}
}

// Create writes many objects of a YAML text, several at a time, without their status and into
// existing namespaces. It fails the test if the server refuses one. The objects stay.
func (s *Server) Create(t testing.TB, text string) {
	t.Helper()
	objs := make(chan *unstructured.Unstructured)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for obj := range objs {
				r, err := s.resource(obj)
				if err == nil {
					_, err = r.Create(t.Context(), obj, metav1.CreateOptions{FieldManager: fieldManager})
				}
				if err != nil {
					t.Errorf("create %s %s/%s: %v", obj.GetKind(), obj.GetNamespace(), obj.GetName(), err)
				}
			}
		})
	}
	for _, obj := range Parse(t, text) {
		objs <- obj
	}
	close(objs)
	workers.Wait()
}

func (s *Server) applyOne(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := s.ensureNamespace(ctx, obj.GetNamespace()); err != nil {
		return nil, err
	}
	r, err := s.resource(obj)
	if err != nil {
		return nil, err
	}
	spec := obj.DeepCopy()
	status, hasStatus := spec.Object["status"]
	delete(spec.Object, "status")
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	written, err := r.Apply(ctx, obj.GetName(), spec, options)
	if err != nil || !hasStatus {
		return written, err
	}
	part := new(unstructured.Unstructured)
	part.SetGroupVersionKind(obj.GroupVersionKind())
	part.SetNamespace(obj.GetNamespace())
	part.SetName(obj.GetName())
	part.Object["status"] = status
	written, err = r.ApplyStatus(ctx, obj.GetName(), part, options)
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	return written, nil
}

func (s *Server) ensureNamespace(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := s.clients.typed.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// delete removes an object of a test that has ended; the server may have ended too.
func (s *Server) delete(t testing.TB, obj *unstructured.Unstructured) {
	select {
	case <-s.process.done:
		return
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := s.resource(obj)
	if err == nil {
		err = r.Delete(ctx, obj.GetName(), metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		t.Logf("delete %s %s/%s: %v", obj.GetKind(), obj.GetNamespace(), obj.GetName(), err)
	}
}

// Namespace creates a namespace that no other test uses, and returns its name. It is never removed:
// no controller runs that would empty it.
func (s *Server) Namespace(t testing.TB) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	ns, err := s.clients.typed.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create namespace: %v", err)
	}
	return ns.Name
}
