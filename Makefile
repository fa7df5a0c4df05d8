# All targets need Go alone; `make geodb` needs npm too. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
TOOL := go tool -modfile=tools/go.tool.mod
PACKAGES := ./...
KUBE_APISERVER := build/bin/kube-apiserver
# One way to compile for all but the race detector, the Dockerfile's: what is compiled once is compiled for all.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath
export KUADRANT_KUBE_APISERVER := $(CURDIR)/$(KUBE_APISERVER)
KUBECTL := build/bin/kubectl
# What checks config/observability: Prometheus's own tool, and what tells tests the names in an expression.
PROMTOOL := build/bin/promtool
QUERIES := build/bin/queries
export KUADRANT_COREDNS := $(CURDIR)/bin/coredns
export KUADRANT_PROMTOOL := $(CURDIR)/$(PROMTOOL)
export KUADRANT_QUERIES := $(CURDIR)/$(QUERIES)
HELM := build/bin/helm build/bin/helm3

.PHONY: help build run targets test lint vet race race-first race-second race-rooms processes browser alloc bench fuzz crds chart reference observability geodb kube kube-apiserver kubectl promtool helm clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## make bin/coredns and bin/kuadrantctl
	go build -o bin/coredns ./cmd/coredns
	go build -o bin/kuadrantctl ./cmd/kuadrantctl

run: build ## start Corefile.example on 127.0.0.1 port 1053
	./bin/coredns -conf Corefile.example

targets: ## serve what Corefile.example checks, to switch off by hand: docs/health.md
	go run ./tools/target 127.0.0.21:8081 127.0.0.22:8081

test: lint build kube-apiserver kubectl promtool helm race processes browser alloc ## run every test, those on a real API server included

lint: vet ## look for mistakes: vet, staticcheck, gofumpt
	$(TOOL) staticcheck $(PACKAGES)
	@unformatted="$$($(TOOL) gofumpt -l $$(git ls-files '*.go' ':!:*zz_generated*'))"; \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofumpt -w on:"; echo "$$unformatted"; exit 1; fi

vet:
	go vet $(PACKAGES)

# Tests of whole processes, of thousands of objects at an API server, of what Helm makes, and of records/ alone, whose long
# ones have one goroutine: the race detector would see little of them, and take long.
PROCESSES := ^(TestPair|TestUpgrade|TestFaultManyDeleted|TestFaultReplicaPaused|TestGuardReportedByAPIServer|TestQuickStart)$$

# The root's tests wait for API servers most of the time. So they run in two parts, by their first letter, and the rooms' beside
# them. What all three need is compiled before.
RACE := CGO_ENABLED=1 KUADRANT_REQUIRE_KUBE=1 KUADRANT_REQUIRE_PROMTOOL=1 go test -race -timeout 60m
FIRST := ^Test[A-G]

race: build
	CGO_ENABLED=1 go build -race $(PACKAGES)
	@$(MAKE) --no-print-directory --output-sync=target -j3 race-first race-second race-rooms

race-first:
	$(RACE) -run '$(FIRST)' -skip '$(PROCESSES)' .

race-second:
	$(RACE) -skip '$(FIRST)|$(PROCESSES)' .

race-rooms:
	$(RACE) $$(go list $(PACKAGES) | grep -v -e /kuadrant$$ -e /browsertest$$ -e /charts$$)

processes: build
	KUADRANT_REQUIRE_KUBE=1 go test -timeout 20m -run '$(PROCESSES)' .
	KUADRANT_REQUIRE_KUBE=1 go test -timeout 20m ./charts ./records

# The race detector would see the driver of the browser alone.
browser: build ## drive the console in chromium; screenshots go to build/screenshots
	go test -count=1 -timeout 10m ./browsertest

# The gates on allocations and sizes do not hold under the race detector.
alloc:
	go test -run 'Alloc|Size' . ./geo ./api

bench: build kube-apiserver ## measure speed and memory: docs/benchmarks.md says what
	go run ./bench/all

FUZZTIME ?= 30s
fuzz: ## run every fuzz target for FUZZTIME (30s)
	@set -e; for p in $$(go list $(PACKAGES)); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
			echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 200x $$p; \
		done; done

crds: ## generate config/crd from the Go types
	go generate ./api/v1

observability: ## make the dashboard and the PrometheusRule of config/observability
	go run ./tools/observability

reference: ## write docs/reference.md and docs/api.md from README.md, config/crd and the code
	go run ./tools/reference

chart: ## write what the Helm chart has of config/, and the table of its README
	go run ./tools/chart

geodb: ## fetch a free country database into build/geodb
	go run ./tools/geodb

# Where its data stay.
KUBE_DATA ?= build/kube
kube: build kube-apiserver kubectl ## start a local API server with the CRDs, to play with: docs/quick-start.md
	go run ./tools/kube $(KUBE_DATA)

# What is built of Kubernetes, all of one version.
KUBE_BUILD = cd tools/kube-apiserver && go build -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3' -o $(CURDIR)/$@
kube-apiserver: $(KUBE_APISERVER) ## make the API server that tests use

$(KUBE_APISERVER): $(wildcard tools/kube-apiserver/*)
	$(KUBE_BUILD) .

kubectl: $(KUBECTL) ## make the kubectl that tests use

$(KUBECTL): tools/kube-apiserver/go.mod tools/kube-apiserver/go.sum
	$(KUBE_BUILD) k8s.io/kubernetes/cmd/kubectl

promtool: $(PROMTOOL) $(QUERIES) ## make the checker of config/observability

# Without the service discoveries, which ask clouds: nothing is discovered here.
$(PROMTOOL): tools/promtool/go.mod tools/promtool/go.sum
	cd tools/promtool && go build -tags remove_all_sd -ldflags '-s -w' -o $(CURDIR)/$@ github.com/prometheus/prometheus/cmd/promtool

$(QUERIES): tools/promtool/go.mod tools/promtool/go.sum $(wildcard tools/promtool/queries/*)
	cd tools/promtool && go build -o $(CURDIR)/$@ ./queries

helm: $(HELM) ## make the Helm 4 and Helm 3 that tests use

build/bin/helm: $(wildcard tools/helm/*)
	cd tools/helm && go build -ldflags '-s -w' -o $(CURDIR)/$@ helm.sh/helm/v4/cmd/helm

# The version of Kubernetes that Helm 3 renders for where it is told of no cluster.
HELM3 := -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=36 \
	-X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor=36

build/bin/helm3: $(wildcard tools/helm/*)
	cd tools/helm && go build -ldflags '-s -w $(HELM3)' -o $(CURDIR)/$@ helm.sh/helm/v3/cmd/helm

clean: ## remove what was built here
	rm -rf bin build
