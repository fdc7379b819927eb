# xk6-omnigraph. `make` alone lists the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# k6 is AGPL and stays out of this repository: host/ supplies its module path through go.work. These
# settings turn a slip (a go command that asks for k6 after all) into a failure instead of a download.
export GONOPROXY := go.k6.io
export GONOSUMDB := go.k6.io
export GOVCS := go.k6.io:off
# The workspace is what makes the build work; a GOWORK=off from outside would ask for the real k6.
export GOWORK := $(CURDIR)/go.work

GO ?= go
BIN := bin

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/k6: the embedded host with the extension linked in
	@mkdir -p $(BIN)
	$(GO) build -o $(BIN)/k6 ./cmd/k6

.PHONY: get
get: ## Add or upgrade a dependency: make get PKG=module@version
	@test -n "$(PKG)" || { echo "make get: say which, for example PKG=gonum.org/v1/gonum@v0.17.0" >&2; exit 2; }
	@internal/tool/modfile.sh get $(PKG)

.PHONY: tidy
tidy: ## Make go.mod and go.sum match the sources, without asking for k6
	@internal/tool/modfile.sh mod tidy
	@cd host && GOWORK=off $(GO) mod tidy
