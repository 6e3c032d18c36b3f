# SPDX-License-Identifier: Apache-2.0
# The everyday commands, thin over CMake. `make help` lists them.
.DEFAULT_GOAL := build
.PHONY: build demo demo-torch test test-all test-nightly bench bench-sim lint format fuzz install clean help
MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
BUILD ?= build

build:      ## build everything that this machine can build, in build/
	@tools/deps.sh build
	@cmake -S . -B build --log-level=NOTICE >/dev/null
	@cmake --build build -j $(JOBS)

demo:       ## train a network over a software switch, twice: clean, and with faults
	@tools/deps.sh build
	@cmake -S . -B build --log-level=NOTICE >/dev/null
	@cmake --build build -j $(JOBS) --target tributary digits-demo
	@build/bin/digits-demo

demo-torch: ## train with PyTorch over a switch and over gloo, in namespaces with slow links
	@tools/deps.sh build
	@cmake -S . -B build --log-level=NOTICE >/dev/null
	@cmake --build build -j $(JOBS) --target tributary tributary_shared
	@tools/torch.sh install
	@python3 examples/torch/demo.py

test:       ## the tests that need no root, in a few minutes
	@tools/test.sh

test-all:   ## sanitizers, namespaces, fuzzing, headers, examples, installation (what CI runs as well)
	@tools/test_all.sh

test-nightly: ## what is too long for CI: every state of all small worlds, all scripts under both sanitizers: an hour
	@tools/test_all.sh nightly

bench:      ## the benchmark table and build/bench.json; ROW=name for one row
	@tools/deps.sh build bench
	@cmake -S . -B build --log-level=NOTICE >/dev/null
	@cmake --build build -j $(JOBS)
	@tools/torch.sh install || echo "rows with PyTorch will not be measured"
	@bench/run $(ROW)

bench-sim:  ## the simulator: packet-hops a second, memory, set-up; and beside ns-3, where that is there
	@tools/deps.sh build
	@cmake -S . -B build --log-level=NOTICE >/dev/null
	@cmake --build build -j $(JOBS)
	@build/bin/bench-sim
	@python3 tests/ns3/compare.py --bench || test $$? = 77

lint:       ## formatting, static analysis, and the rules of this tree
	@tools/lint.sh

format:     ## apply clang-format to every C file
	@tools/deps.sh all
	@find include src tests bench examples -name '*.[ch]' -exec clang-format -i {} +

fuzz:       ## search with libFuzzer; SECONDS_EACH=60 for each target
	@tools/deps.sh build all
	@cmake --preset fuzz -D TRIB_FUZZ_SECONDS=$(or $(SECONDS_EACH),60)
	@cmake --build build-fuzz -j $(JOBS)
	@ctest --test-dir build-fuzz --output-on-failure

install:    ## install below PREFIX (/usr/local): program, libraries, headers, and no test is built
	@tools/deps.sh build
	@cmake -S . -B $(BUILD) --log-level=NOTICE >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target tributary tributary_shared tributary_static
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:      ## remove every build folder
	@rm -rf build build-*

help:       ## this list
	@sed -n 's/^\([a-z-]*\): *\([a-z ]*\)## /\1\t/p' Makefile | expand -t 15
