package endpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// hashLength is how many characters of a hash stand in a name (rule 2.3).
const hashLength = 6

// Hash returns the first six characters of the lower-case base-36 form of
// SHA-224 of s (rule 2.3): the names that Kuadrant's own operators derive.
func Hash(s string) string {
	return base36(s)[:hashLength]
}

// base36 returns SHA-224 of s, read as a big-endian number, in base 36.
func base36(s string) string {
	sum := sha256.Sum224([]byte(s))
	number := [4]uint64{
		uint64(binary.BigEndian.Uint32(sum[:])),
		binary.BigEndian.Uint64(sum[4:]), binary.BigEndian.Uint64(sum[12:]), binary.BigEndian.Uint64(sum[20:]),
	}
	// 224 bits are at most 44 digits; twelve of them fit into a word.
	const (
		perWord = 12
		base    = 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36
		digits  = "0123456789abcdefghijklmnopqrstuvwxyz"
	)
	var text [4 * perWord]byte
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
	first := 0
	for first < len(text)-hashLength && text[first] == '0' {
		first++
	}
	return string(text[first:])
}
