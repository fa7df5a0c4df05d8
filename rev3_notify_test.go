package kuadrant

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestASilentSecondaryHoldsUpNoOtherBlock: the secondaries of one server block do not wait
// for those of another, which are told through a transfer plugin of their own. docs/transfer.md
// says that a silent one holds up those behind it in `to`, and no others.
func TestASilentSecondaryHoldsUpNoOtherBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotifying(t)
		n.to.takes, n.to.err = 6*time.Second, errors.New("no answer")
		var second []string
		begin := time.Now()
		told := make(chan string, 16)
		n.notifier.listen(map[string]bool{"example.com.": true, "example.org.": true}, func(zone string) error {
			told <- fmt.Sprintf("%s after %v", zone, time.Since(begin))
			return nil
		})
		n.publish()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for len(told) > 0 {
			second = append(second, <-told)
		}
		if len(second) != 2 {
			t.Errorf("after 2 s the secondaries of the other block have been told of %q, want both zones", second)
		}
		time.Sleep(20 * time.Second) // the silent one's time is over
		n.stop()
	})
}

// TestASecondaryThatDiesLaterIsTold: one that has been dead for long, such as one that was taken
// down, does not hide that another one has died since.
func TestASecondaryThatDiesLaterIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotifying(t)
		dead := func(who ...string) {
			n.to.mu.Lock()
			n.to.err = nil
			for _, addr := range who {
				n.to.err = errors.Join(n.to.err, fmt.Errorf("notify for zone %q was not accepted by %q", "example.org.", addr))
			}
			n.to.mu.Unlock()
		}
		dead("192.0.2.1:53")
		n.publish()
		time.Sleep(2 * time.Second)
		dead("192.0.2.1:53", "192.0.2.2:53")
		n.change(1)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if all := strings.Join(n.logs, "\n"); !strings.Contains(all, "192.0.2.2:53") {
			t.Errorf("nothing tells that 192.0.2.2 does not take NOTIFY any more:\n%s", all)
		}
		n.stop()
	})
}
