package pool

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestUsers compares users, few and very many, with a plain map.
func TestUsers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		var u users
		want := make(map[string]int)
		most := 1 + r.IntN(200)
		for range 2000 {
			user := fmt.Sprint(r.IntN(most))
			before := u.copied()
			was := slices.Sorted(u.all())
			if n := want[user]; n > 0 && r.IntN(2) == 0 {
				if want[user]--; n == 1 {
					delete(want, user)
				}
				if none := u.remove(user); none != (len(want) == 0) {
					t.Fatalf("none left: %v, of %v", none, want)
				}
			} else {
				want[user]++
				u.add(user)
			}
			if !slices.Equal(slices.Sorted(before.all()), was) {
				t.Fatal("a copy has changed")
			}
			if u.has(user) != (want[user] > 0) {
				t.Fatalf("has %s: %v, want %d", user, u.has(user), want[user])
			}
		}
		got := slices.Compact(slices.Sorted(u.all()))
		var all []string
		for user := range want {
			all = append(all, user)
		}
		if slices.Sort(all); !slices.Equal(got, all) {
			t.Errorf("%v, want %v", got, all)
		}
	}
}
