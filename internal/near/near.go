// Package near finds known words whose spelling is close to that of an unknown one.
package near

import "iter"

// Most is the largest number of edits between a word and one that is near: one or two typing
// mistakes.
const Most = 2

// Matches returns the words in all that are near word, the nearest first, and no more than most.
func Matches(word string, all iter.Seq[string], most int) (near []string) {
	for edits := 1; edits <= Most; edits++ {
		for other := range all {
			if len(near) < most && Edits(word, other, Most) == edits {
				near = append(near, other)
			}
		}
	}
	return near
}

// Edits returns the number of characters to insert, delete, replace, or swap with the next one to
// turn a into b. If that exceeds most, which is small, it returns most+1. It does not allocate.
func Edits(a, b string, most int) int {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch long := max(len(a), len(b)); {
	case long-min(len(a), len(b)) > most:
		return most + 1
	case most == 0 || a == "" || b == "":
		return min(long, most+1)
	}
	least := min(Edits(a[1:], b[1:], most-1), Edits(a[1:], b, most-1), Edits(a, b[1:], most-1))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, Edits(a[2:], b[2:], most-1))
	}
	return 1 + least
}
