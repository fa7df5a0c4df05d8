package records

import (
	"crypto/sha256"
	"math/big"
)

// hashLength is how many characters of a hash stand in a name (rule 2.3).
const hashLength = 6

// hash6 returns the first six characters of the lower-case base-36 form of
// SHA-224 of s (rule 2.3): the names that Kuadrant's own operators derive.
func hash6(s string) string {
	return base36(s)[:hashLength]
}

// base36 returns SHA-224 of s, read as a big-endian number, in base 36.
func base36(s string) string {
	sum := sha256.Sum224([]byte(s))
	text := new(big.Int).SetBytes(sum[:]).Text(36)
	// A sum that starts with many zero bits gives fewer digits than names need.
	for len(text) < hashLength {
		text = "0" + text
	}
	return text
}
