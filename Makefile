# All targets need Go alone; `make geodb` needs npm too. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
TOOL := go tool -modfile=tools/go.tool.mod
PACKAGES := ./...
KUBE_APISERVER := build/bin/kube-apiserver
export KUADRANT_KUBE_APISERVER := $(CURDIR)/$(KUBE_APISERVER)

.PHONY: help build run targets test lint vet race processes browser alloc bench fuzz crds geodb kube kube-apiserver clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## make bin/coredns and bin/kuadrantctl
	go build -o bin/coredns ./cmd/coredns
	go build -o bin/kuadrantctl ./cmd/kuadrantctl

run: build ## start Corefile.example on 127.0.0.1 port 1053
	./bin/coredns -conf Corefile.example

targets: ## serve what Corefile.example checks, to switch off by hand: docs/health.md
	go run ./tools/target 127.0.0.21:8081 127.0.0.22:8081

test: lint build kube-apiserver race processes browser alloc ## run every test, those on a real API server included

lint: vet ## look for mistakes: vet, staticcheck, gofumpt
	$(TOOL) staticcheck $(PACKAGES)
	@unformatted="$$($(TOOL) gofumpt -l $$(git ls-files '*.go' ':!:*zz_generated*'))"; \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofumpt -w on:"; echo "$$unformatted"; exit 1; fi

vet:
	go vet $(PACKAGES)

# Tests of whole processes, and of thousands of objects at an API server: the race detector
# would see little of them, and take long.
PROCESSES := ^(TestPair|TestUpgrade|TestFaultManyDeleted|TestFaultReplicaPaused|TestGuardReportedByAPIServer)$$

race:
	KUADRANT_REQUIRE_KUBE=1 go test -race -timeout 40m -skip '$(PROCESSES)' $$(go list $(PACKAGES) | grep -v /browsertest$$)

processes:
	KUADRANT_REQUIRE_KUBE=1 go test -timeout 20m -run '$(PROCESSES)' .

# The race detector would see the driver of the browser alone.
browser: build ## drive the console in chromium; screenshots go to build/screenshots
	KUADRANT_COREDNS=$(CURDIR)/bin/coredns go test -count=1 -timeout 10m ./browsertest

# The gates on allocations and sizes do not hold under the race detector.
alloc:
	go test -run 'Alloc|Size' . ./records ./geo ./api

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

geodb: ## fetch a free country database into build/geodb
	go run ./tools/geodb

kube: build kube-apiserver ## start a local API server with the CRDs, to play with
	go run ./tools/kube

kube-apiserver: $(KUBE_APISERVER) ## make the API server that tests use

$(KUBE_APISERVER): $(wildcard tools/kube-apiserver/*)
	cd tools/kube-apiserver && go build -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3' -o $(CURDIR)/$@ .

clean: ## remove what was built here
	rm -rf bin build
