// Package near finds words that are spelled nearly as one that is not known.
package near

import "iter"

// Most is how many edits are between a word and one that is near: two are a slip or two of the fingers.
const Most = 2

// Words returns the words of all that are spelled nearly as one that is not among them, at most so many, the nearest first.
func Words(word string, all iter.Seq[string], most int) (near []string) {
	for edits := 1; edits <= Most; edits++ {
		for other := range all {
			if len(near) < most && Edits(word, other, Most) == edits {
				near = append(near, other)
			}
		}
	}
	return near
}

// Edits returns how many characters have to be put in, left out, replaced, or exchanged with the next one to make b of a; most+1
// where they are more than most, which is small. It does not allocate.
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
