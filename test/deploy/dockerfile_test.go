package deploy

import (
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// dockerfile returns the instructions of the Dockerfile, each on one line.
func dockerfile(t *testing.T) (lines []string) {
	t.Helper()
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	plain := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(string(text), "")
	for line := range strings.Lines(strings.ReplaceAll(plain, "\\\n", " ")) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestDockerfile: the image has an account without rights, whose number config/deploy uses, only
// what the first stage puts aside, and no base image other than Go's own.
func TestDockerfile(t *testing.T) {
	lines := dockerfile(t)
	for _, want := range []string{
		"ARG BASE=scratch", "FROM --platform=$BUILDPLATFORM golang:1.26 AS build", "ARG TARGETOS TARGETARCH", "FROM ${BASE}",
		"COPY --from=build /out/ /", "USER 65532:65532", `ENTRYPOINT ["/coredns"]`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}
	known := regexp.MustCompile(`^(ARG|FROM|WORKDIR|COPY|RUN|LABEL|USER|EXPOSE|ENTRYPOINT) \S`)
	last := slices.Index(lines, "FROM ${BASE}")
	for i, line := range lines {
		if !known.MatchString(line) {
			t.Errorf("instruction %q", line)
		}
		// There is no shell to run commands.
		if i > last && strings.HasPrefix(line, "RUN") {
			t.Errorf("in the last stage: %q", line)
		}
	}
	label := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "LABEL") })
	if label < 0 || !strings.Contains(lines[label], `org.opencontainers.image.version="$VERSION"`) {
		t.Error("no label with the version")
	}
	goMod, err := os.ReadFile("go.mod")
	if err != nil || !strings.Contains(string(goMod), "\ngo 1.26.") {
		t.Errorf("go.mod wants another Go than the Dockerfile has: %v", err)
	}
	for _, overlay := range []string{"public", "cluster-dns"} {
		if user := renderOverlay(t, overlay).pod.SecurityContext; *user.RunAsUser != 65532 || *user.RunAsGroup != 65532 {
			t.Errorf("%s runs as %d:%d", overlay, *user.RunAsUser, *user.RunAsGroup)
		}
	}
}

// TestDockerignore: no source of the binary is ignored.
func TestDockerignore(t *testing.T) {
	text, err := os.ReadFile(".dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	out := run(t, root, "go", "list", "-deps", "-f", `{{range .GoFiles}}{{$.Dir}}/{{.}} {{end}}{{range .EmbedFiles}}{{$.Dir}}/{{.}} {{end}}`, "./cmd/coredns", "./cmd/kdns")
	seen := 0
	for file := range strings.FieldsSeq(out) {
		file, ours := strings.CutPrefix(file, root+"/")
		if !ours {
			continue
		}
		seen++
		for pattern := range strings.Lines(string(text)) {
			if pattern = strings.TrimSpace(pattern); pattern != "" && strings.HasPrefix(file, pattern+"/") {
				t.Errorf("%s is left out by %q", file, pattern)
			}
		}
	}
	if seen < 100 {
		t.Errorf("saw %d files", seen)
	}
}

// TestDockerBuild runs the Dockerfile's own command: both programs are static, and the server
// prints its version.
func TestDockerBuild(t *testing.T) {
	peertest.NeedBuilds(t)
	var command string
	for _, line := range dockerfile(t) {
		if strings.Contains(line, "go build") {
			command = strings.TrimPrefix(line, "RUN ")
		}
	}
	for _, flag := range []string{"CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH ", "-trimpath", "-buildvcs=false", "-s -w", "-buildid= "} {
		if !strings.Contains(command, flag) {
			t.Errorf("the command lacks %s: %s", flag, command)
		}
	}
	dir := t.TempDir() + "/"
	cmd := exec.Command("sh", "-c", strings.Replace(command, "/out/", dir, 1))
	cmd.Env = append(os.Environ(), "VERSION=v0.0.0-test")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, text)
	}
	for _, program := range []string{"coredns", "kdns"} {
		t.Run(program, func(t *testing.T) { static(t, dir+program) })
	}
	if version := run(t, ".", dir+"coredns", "-version"); !strings.Contains(version, "v0.0.0-test") {
		t.Errorf("it says %q", version)
	}
}

// static fails if a program needs a library or a loader, or contains a path of this machine.
func static(t *testing.T, out string) {
	binary, err := elf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	if libraries, err := binary.ImportedLibraries(); err == nil && len(libraries) > 0 {
		t.Errorf("it needs %q", libraries)
	}
	for _, p := range binary.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("it has a segment %s", p.Type)
		}
	}
	info, err := buildinfo.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range info.Settings {
		if s.Key == "CGO_ENABLED" && s.Value != "0" || s.Key == "-trimpath" && s.Value != "true" {
			t.Errorf("built with %s=%s", s.Key, s.Value)
		}
	}
	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if here := moduleDir(t); strings.Contains(string(content), here) {
		t.Errorf("it has %s in it", here)
	}
}

// moduleDir returns the directory of this module.
func moduleDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	return dir + "/"
}
