package controller

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/api"
	kubizone "github.com/coredns-kuadrant/kuadrant/api/kubizone/v1alpha1"
	v1 "github.com/coredns-kuadrant/kuadrant/api/v1"
	"github.com/coredns-kuadrant/kuadrant/api/v1alpha1"
)

// form is the form of a kind's status.
type form interface {
	// read returns our part of the status in JSON; nil if it is unreadable.
	read(status []byte) any
	// make returns the new status. Conditions that did not change, as read has returned them, keep
	// their times.
	make(report *Report, current any, now time.Time) any
}

// forms are the forms of kinds whose status is written; nil for others.
var forms = [api.NumKinds]form{
	api.KindGateway: typedForm[gatewayStatus]{
		fill: func(s *gatewayStatus, report *Report) {
			s.Conditions = conditions(report.Conditions, report.Generation)
		},
		conditions: func(s *gatewayStatus, yield func(string, *[]metav1.Condition)) { yield("", &s.Conditions) },
		ours:       []string{"kuadrant.io/DNSPolicyAffected"},
	},
	api.KindDNSPolicy: typedForm[v1.DNSPolicyStatus]{
		fill: fillPolicy,
		conditions: func(s *v1.DNSPolicyStatus, yield func(string, *[]metav1.Condition)) {
			yield("", &s.Conditions)
			for host, list := range s.RecordConditions {
				was := list
				if yield(host, &list); (list == nil) != (was == nil) { // else s may be in use
					s.RecordConditions[host] = list
				}
			}
		},
		ours: []string{"Accepted", "Enforced", "SubResourcesHealthy"},
	},
	api.KindZone: typedForm[kubizone.ZoneStatus]{
		fill:       fillZone,
		settle:     settleZone,
		conditions: func(s *kubizone.ZoneStatus, yield func(string, *[]metav1.Condition)) { yield("", &s.Conditions) },
		ours:       []string{"Ready", api.ConditionEntries},
	},
	api.KindRecord: typedForm[kubizone.RecordStatus]{
		fill:       fillRecord,
		conditions: func(s *kubizone.RecordStatus, yield func(string, *[]metav1.Condition)) { yield("", &s.Conditions) },
		ours:       []string{"Ready"},
	},
	api.KindDNSRecord: typedForm[v1alpha1.DNSRecordStatus]{
		fill:       fillDNSRecord,
		conditions: func(s *v1alpha1.DNSRecordStatus, yield func(string, *[]metav1.Condition)) { yield("", &s.Conditions) },
		ours:       []string{"Ready", "Healthy"},
	},
	api.KindProbe: typedForm[v1alpha1.DNSHealthCheckProbeStatus]{fill: fillProbe, settle: settleProbe},
}

// gatewayStatus is our part of a Gateway's status.
type gatewayStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// typedForm implements form for statuses of type T.
type typedForm[T any] struct {
	fill func(*T, *Report)
	// conditions yields the lists of conditions, each by a key; nil for none.
	conditions func(*T, func(key string, list *[]metav1.Condition))
	// settle keeps the present status if the difference does not matter; nil if all does.
	settle func(s, before *T)
	// ours are our types of conditions in the list "".
	ours []string
}

func (f typedForm[T]) read(data []byte) any {
	s := new(T)
	if json.Unmarshal(data, s) != nil {
		return nil
	}
	if f.conditions != nil {
		f.conditions(s, func(key string, list *[]metav1.Condition) {
			if key == "" {
				*list = slices.DeleteFunc(*list, func(c metav1.Condition) bool { return !slices.Contains(f.ours, c.Type) })
			}
			if len(*list) == 0 {
				*list = nil
			}
			sortConditions(*list)
		})
	}
	return s
}

func (f typedForm[T]) make(report *Report, current any, now time.Time) any {
	s := new(T)
	f.fill(s, report)
	before, _ := current.(*T)
	if f.settle != nil && before != nil {
		f.settle(s, before)
	}
	if f.conditions == nil {
		return s
	}
	times := make(map[[2]string]metav1.Condition)
	if before != nil {
		f.conditions(before, func(key string, list *[]metav1.Condition) {
			for _, c := range *list {
				times[[2]string{key, c.Type}] = c
			}
		})
	}
	f.conditions(s, func(key string, list *[]metav1.Condition) {
		for i := range *list {
			c := &(*list)[i]
			// In seconds, as they are written.
			c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
			if old, ok := times[[2]string{key, c.Type}]; ok && old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
		}
		sortConditions(*list)
	})
	return s
}

// sortConditions sorts conditions for comparison.
func sortConditions(list []metav1.Condition) {
	slices.SortStableFunc(list, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
}

// same reports whether two statuses of one kind are equal.
func same(a, b any) bool { return reflect.DeepEqual(a, b) }

// conditions returns conditions in the API's form, in which a list has at most one of a type.
func conditions(list []api.Condition, generation int64) []metav1.Condition {
	seen := make(map[string]bool)
	return slices.DeleteFunc(everyCondition(list, generation), func(c metav1.Condition) bool {
		again := seen[c.Type]
		seen[c.Type] = true
		return again
	})
}

// everyCondition returns conditions in the API's form. A host may have several of one type: one for each provider Secret.
func everyCondition(list []api.Condition, generation int64) (all []metav1.Condition) {
	for _, c := range list {
		all = append(all, metav1.Condition{
			Type: c.Type, Status: metav1.ConditionStatus(c.Status.String()), Reason: c.Reason,
			Message: c.Message, ObservedGeneration: generation,
		})
	}
	return all
}

func fillPolicy(s *v1.DNSPolicyStatus, report *Report) {
	s.Conditions, s.ObservedGeneration, s.TotalRecords = conditions(report.Conditions, report.Generation), report.Generation, report.TotalRecords
	for _, r := range report.Records {
		if list := everyCondition(r.Conditions, report.Generation); len(list) > 0 {
			if s.RecordConditions == nil {
				s.RecordConditions = make(map[string][]metav1.Condition)
			}
			s.RecordConditions[r.Host] = list
		}
	}
}

func fillZone(s *kubizone.ZoneStatus, report *Report) {
	s.FQDN, s.Serial, s.Hash = report.FQDN, int64(report.Kept.Serial), report.Kept.Hash
	s.Conditions = conditions(report.Conditions, report.Generation)
	for _, e := range report.Entries {
		s.Entries = append(s.Entries, kubizone.Entry{FQDN: e.FQDN, Type: e.Type, Class: e.Class, TTL: kubizone.Seconds(e.TTL), RData: e.RData})
	}
}

func fillRecord(s *kubizone.RecordStatus, report *Report) {
	s.FQDN, s.Conditions = report.FQDN, conditions(report.Conditions, report.Generation)
}

func fillDNSRecord(s *v1alpha1.DNSRecordStatus, report *Report) {
	s.Conditions, s.ObservedGeneration = conditions(report.Conditions, report.Generation), report.Generation
	s.Endpoints = endpointsOf(report.Endpoints)
}

func fillProbe(s *v1alpha1.DNSHealthCheckProbeStatus, report *Report) {
	p := report.Probe
	if p == nil {
		return
	}
	s.ConsecutiveFailures, s.Reason, s.Status, s.ObservedGeneration = int32(p.ConsecutiveFailures), p.Reason, int32(p.Status), report.Generation
	if p.Healthy != api.ConditionUnknown {
		healthy := p.Healthy == api.ConditionTrue
		s.Healthy = &healthy
	}
	if !p.LastCheck.IsZero() {
		at := metav1.NewTime(p.LastCheck.Truncate(time.Second))
		s.LastCheck = &at
	}
}

// endpointsOf returns endpoints in the API's form.
func endpointsOf(all []api.WrittenEndpoint) (endpoints []v1alpha1.Endpoint) {
	for _, e := range all {
		endpoint := v1alpha1.Endpoint{
			DNSName: v1.DomainName(e.DNSName), RecordType: e.Type, RecordTTL: e.TTL, Targets: e.Targets, SetIdentifier: e.SetID,
		}
		for _, p := range e.Properties {
			endpoint.ProviderSpecific = append(endpoint.ProviderSpecific, v1alpha1.ProviderSpecificProperty{Name: p.Name, Value: p.Value})
		}
		endpoints = append(endpoints, endpoint)
	}
	return endpoints
}

// settleProbe keeps the time of the last check and the count of failures if the target's state has
// not changed: not every check writes a status (rule 4.8).
func settleProbe(s, before *v1alpha1.DNSHealthCheckProbeStatus) {
	same := before.Healthy == s.Healthy || before.Healthy != nil && s.Healthy != nil && *before.Healthy == *s.Healthy
	if same && before.Reason == s.Reason && before.Status == s.Status && before.ObservedGeneration == s.ObservedGeneration &&
		(before.ConsecutiveFailures == 0) == (s.ConsecutiveFailures == 0) &&
		(before.LastCheck != nil || s.LastCheck == nil || before.Healthy != nil) {
		s.LastCheck, s.ConsecutiveFailures = before.LastCheck, before.ConsecutiveFailures
	}
}

// settleZone keeps a zone's published values while there are none to keep yet: not all of its
// content is known.
func settleZone(s, before *kubizone.ZoneStatus) {
	if s.Serial == 0 && s.FQDN != "" && s.FQDN == before.FQDN {
		s.Serial, s.Hash, s.Entries = before.Serial, before.Hash, before.Entries
	}
}

// keptIn returns the published values in a Zone's status, as api.Zone has them.
func keptIn(s *kubizone.ZoneStatus) api.Kept {
	if s.Serial <= 0 || s.Serial > math.MaxUint32 {
		return api.Kept{}
	}
	return api.Kept{Hash: s.Hash, Serial: uint32(s.Serial)}
}
