# The commands of the house; see README.md. Every target works from a clean clone on Debian 12
# (format needs clang-format, which `make test` installs).
PREFIX ?= /usr/local
BUILD ?= build
JOBS ?= $(shell nproc)

.PHONY: all deps native product demo test bench compat soak install package format clean

all: deps native

# Installs what is missing (as root by apt), or prints the one command to run.
deps:
	@scripts/install-deps

native: $(BUILD)/build.ninja
	@! grep -q WISP_BUILD_TESTS:BOOL=OFF $(BUILD)/CMakeCache.txt || \
	  cmake -S . -B $(BUILD) -DWISP_BUILD_TESTS=ON >> $(BUILD)/configure.log
	@cmake --build $(BUILD) -j $(JOBS)

# Only what the demo runs: the library and the command.
product:
	@scripts/install-deps product
	@[ -f $(BUILD)/build.ninja ] || $(MAKE) -s $(BUILD)/build.ninja CONFIGURE=-DWISP_BUILD_TESTS=OFF
	@cmake --build $(BUILD) -j $(JOBS) --target libwisp wisp

$(BUILD)/build.ninja: CMakeLists.txt
	@cmake -G Ninja -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CONFIGURE) > $(BUILD)-configure.log 2>&1 || \
	  { cat $(BUILD)-configure.log; exit 1; }
	@mv -f $(BUILD)-configure.log $(BUILD)/configure.log

# Five minutes in all: what installing and building took comes off the runs of plain threads.
demo: BEGAN := $(shell date +%s)
demo: product
	@left=$$((280 - $$(date +%s) + $(BEGAN))); scripts/demo --budget $$((left > 90 ? left : 90))

test: all
	@scripts/test

# Every workload in full: hours. One of them, or a quick look: build/bin/wisp bench NAME
bench: all
	@scripts/install-deps bench
	@scripts/bench all --full

# Hours. What an earlier run of the same sources has finished stands; FRESH=1 begins anew.
compat: all
	@scripts/test --compat $(if $(FRESH),,--resume) $(PARTS)

# Minutes by MINUTES=N, 3 by default.
soak: all
	@scripts/soak --minutes $(or $(MINUTES),3)

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

package: all
	@cd $(BUILD) && cpack

format:
	@git ls-files --cached --others --exclude-standard '*.c' '*.cpp' '*.h' | xargs clang-format -i

clean:
	rm -rf $(BUILD) build-asan build-tsan
