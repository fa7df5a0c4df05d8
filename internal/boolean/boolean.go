// Package boolean has what the language lacks for bool.
package boolean

// Int returns 1 for true, and 0 for false.
func Int(b bool) int {
	if b {
		return 1
	}
	return 0
}
