package endpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// hashLength is how many characters of a hash stand in a name (rule 2.3).
const hashLength = 6

// perWord is how many digits of base 36 fit into a word: 224 bits are at most 44.
const perWord = 12

// Hash returns the first six characters of the lower-case base-36 form of SHA-224 of s, as
// Kuadrant's own operators derive names (rule 2.3).
func Hash(s string) string {
	text, first := base36(s)
	return string(text[first : first+hashLength])
}

// base36 returns SHA-224 of s, read as a big-endian number, in base 36; the digits start at first.
func base36(s string) (text [4 * perWord]byte, first int) {
	sum := sha256.Sum224([]byte(s))
	number := [4]uint64{
		uint64(binary.BigEndian.Uint32(sum[:])),
		binary.BigEndian.Uint64(sum[4:]), binary.BigEndian.Uint64(sum[12:]), binary.BigEndian.Uint64(sum[20:]),
	}
	const (
		base   = 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36
		digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	)
	for at := len(text); at > 0; {
		var rest uint64
		for i := range number {
			number[i], rest = bits.Div64(rest, number[i], base)
		}
		for range perWord {
			at--
			text[at] = digits[rest%36]
			rest /= 36
		}
	}
	// A sum that starts with many zero bits gives fewer digits than names need.
	for first < len(text)-hashLength && text[first] == '0' {
		first++
	}
	return text, first
}
