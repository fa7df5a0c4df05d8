package stats

import "testing"

func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		values []float64
		target float64
		median float64
		want   Verdict
	}{
		{[]float64{3, 1, 2}, 2, 2, Met},
		{[]float64{4, 1, 3, 2}, 2, 2.5, Equal},
		{[]float64{3, 4, 5}, 2.9, 4, Missed},
		{[]float64{1}, 1, 1, Met},
	} {
		s := Of(test.values)
		if got := s.AtMost(test.target); s.Median != test.median || got != test.want {
			t.Errorf("%v at most %v: median %v, %q; want %v, %q", test.values, test.target, s.Median, got, test.median, test.want)
		}
	}
	for _, test := range []struct {
		values []float64
		target float64
		want   Verdict
	}{
		{[]float64{3, 1, 2}, 2, Met},
		{[]float64{4, 1, 3, 2}, 3, Equal},
		{[]float64{3, 4, 5}, 5.1, Missed},
	} {
		if got := Of(test.values).AtLeast(test.target); got != test.want {
			t.Errorf("%v at least %v: %q, want %q", test.values, test.target, got, test.want)
		}
	}
}
