package kubetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Tool returns the absolute path of a program that a Makefile target builds in build/bin, or that an environment variable names; variable
// is "" for none. If the program is missing, it skips the test, or fails it if the environment has CI=true or one of the variables in
// required is 1.
func Tool(t testing.TB, variable, name, target string, required ...string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		path = filepath.Join(ModuleRoot(), "build", "bin", name)
	}
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" || slices.ContainsFunc(required, func(v string) bool { return os.Getenv(v) == "1" }) {
		t.Fatalf("no %s to test with: %v: run `make %s`", name, err, target)
	}
	t.Skipf("no %s to test with: %v: run `make %s`", name, err, target)
	return ""
}

// Shell runs commands in a directory, with a kubectl for the server, and returns what they print.
func (s *Server) Shell(t testing.TB, dir, commands string) string {
	t.Helper()
	kubectl := Tool(t, "", "kubectl", "kubectl", "KUADRANT_REQUIRE_KUBE")
	cmd := exec.Command("sh", "-ec", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig, "PATH="+filepath.Dir(kubectl)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var printed strings.Builder
	cmd.Stderr = &printed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, printed.String())
	}
	return string(out)
}
