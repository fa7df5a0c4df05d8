package kuadrant

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestRemoteRenamed: a cluster gets a Secret of another name, first beside the old one, which is then
// deleted. The cluster is named all the time, and its names exist: none is denied while it is read under
// its new name, be it away for a while (rule 7.4).
func TestRemoteRenamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := &feed{name: "local", place: "api"}
		r, s := followSecrets(t, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").uid = "u"
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		both := []*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")}
		s.show(both)
		s.feed("east-1").uid = "u"
		s.feed("east-1").show(hosts{"b": "192.0.2.2"})
		time.Sleep(remotePatience + time.Second)
		synctest.Wait()
		r.expect("two Secrets name it", "b=192.0.2.2", "no=NXDOMAIN")
		s.show(both[1:])
		if got := r.answer("b"); got == "NXDOMAIN" {
			t.Errorf("the old Secret is gone, and b, of a cluster that another one names, is %s", got)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := r.answer("b"); got == "NXDOMAIN" {
			t.Errorf("its API server is away, and b is %s", got)
		}
	})
}
