//go:build race

package geo

// Under the race detector a look-up takes 20 times as long.
const everyNth = 16
