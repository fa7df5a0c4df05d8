package controller

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// events sends Events. Those of one object are aggregated and bounded, as in client-go.
type events struct {
	client   typedcorev1.EventsGetter
	recorder record.EventRecorder // nil while this replica does not write
}

func (e *events) init(w *Writer, config *rest.Config) (err error) {
	config = rest.CopyConfig(config)
	config.RateLimiter, config.QPS, config.Burst = nil, w.opts.QPS/2, max(w.opts.Burst/2, 1)
	e.client, err = typedcorev1.NewForConfigAndClient(config, w.http)
	return err
}

// startEvents begins to send Events, until ctx ends.
func (w *Writer) startEvents(ctx context.Context) (stop func()) {
	b := record.NewBroadcaster(record.WithContext(klog.NewContext(ctx, quiet)))
	b.StartRecordingToSink(&eventSink{typedcorev1.EventSinkImpl{Interface: w.events.client.Events("")}, w})
	recorder := b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: FieldManager})
	w.mu.Lock()
	w.events.recorder = recorder
	w.mu.Unlock()
	return func() {
		w.mu.Lock()
		w.events.recorder = nil
		w.mu.Unlock()
		b.Shutdown()
	}
}

// eventSink wraps client-go's, and logs where Events may not be written.
type eventSink struct {
	typedcorev1.EventSinkImpl
	w *Writer
}

// Create implements record.EventSink.
func (s *eventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	made, err := s.EventSinkImpl.Create(event)
	s.note(event.Namespace, err)
	return made, err
}

// Patch implements record.EventSink.
func (s *eventSink) Patch(event *corev1.Event, data []byte) (*corev1.Event, error) {
	made, err := s.EventSinkImpl.Patch(event, data)
	s.note(event.Namespace, err)
	return made, err
}

// note notes the result of an Event in a namespace: rights may differ between namespaces.
func (s *eventSink) note(namespace string, err error) {
	if sort := classify(err); sort != none && sort != forbidden {
		return // other failures are logged elsewhere, or the object is gone
	}
	doing := "write Events in namespace " + namespace
	s.w.log.result(about+doing, attempt{doing: doing, grant: "the verbs create and patch on events there"}, err)
}

// Event reports an event of an object, if this replica writes: a reason in one word, and a message.
// warning is true if it needs attention.
func (w *Writer) Event(ref api.Ref, warning bool, reason, message string) {
	o := w.cache.get(ref)
	if o == nil {
		return
	}
	at := &corev1.ObjectReference{APIVersion: o.apiVersion, Kind: ref.Kind.String(), UID: types.UID(o.uid), ResourceVersion: o.version}
	at.Namespace, at.Name = splitName(ref.Name)
	w.record(at, warning, reason, message)
}

// event reports an event of the Lease.
func (l *lease) event(reason, message string) {
	l.w.record(&corev1.ObjectReference{
		APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease", Namespace: l.w.opts.Namespace, Name: l.w.opts.Lease,
	}, true, reason, message)
}

func (w *Writer) record(at *corev1.ObjectReference, warning bool, reason, message string) {
	w.mu.Lock()
	recorder := w.events.recorder
	w.mu.Unlock()
	if recorder == nil {
		return
	}
	kind := corev1.EventTypeNormal
	if warning {
		kind = corev1.EventTypeWarning
	}
	recorder.Event(at, kind, reason, api.Cut(message, maxEvent))
}

// maxEvent bounds an Event's message: the API server takes 1024 bytes.
const maxEvent = 1000
