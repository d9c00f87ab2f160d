# The tasks of this repository. They need Swift 6.3 and Debian 12 or newer, or a similar system.

# Makes warnings of this package errors; Package.swift reads this variable.
check release gateway install deb size: export WARNINGS_AS_ERRORS := 1
release gateway install deb size screenshot cost reference-c test-firmware test-mini test test-device soak soak-daemons faults bench bench-serial: export SMALL_COMMAND := 1

SOURCES := Package.swift Sources Tests transports Fuzz Benchmarks embedded $(wildcard examples)

# A small command (docs/design/size.md): static Swift libraries, without unused functions and unwind tables, and with packed relocations
# if the C library supports them (glibc 2.36). An idle gateway needs a fifth less memory than one that is linked dynamically.
GLIBC := $(lastword $(shell getconf GNU_LIBC_VERSION))
RELR := $(shell printf '2.36\n%s\n' '$(GLIBC)' | sort -CV && echo -Xlinker -z -Xlinker pack-relative-relocs)
# The linker can remove unused functions only if each function has its own section, and public ones do not count as used.
SECTIONS := -Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -Xfrontend -Xswiftc -internalize-at-link \
  $(foreach compiler,cc cxx,-X$(compiler) -ffunction-sections -X$(compiler) -fdata-sections)
# The flags are the same for both programs, so that the second one is only linked.
FLAGS := -c release --static-swift-stdlib --disable-local-rpath -Xswiftc -enforce-exclusivity=unchecked $(SECTIONS) \
  -Xswiftc -use-ld=lld -Xlinker --gc-sections -Xlinker --no-export-dynamic -Xlinker --icf=all -Xlinker -s \
  -Xlinker --no-eh-frame-hdr -Xlinker -T -Xlinker scripts/release.ld $(RELR)
RELEASE := $(FLAGS) --product byway
# The linker's map names the modules in the program.
GATEWAY := $(FLAGS) --product byway-gateway -Xlinker -Map=.build/byway-gateway.map

.PHONY: build gateway size screenshot cost reference-c firmware wasm mini test-firmware fuzz-firmware test-mini test test-device soak soak-daemons faults demo docs format lint files check release install deb bench bench-serial examples \
  dependencies peers clean

build: dependencies
	swift build

# make demo ARGUMENTS=--once; make demo ARGUMENTS=--accessory for the page of a sensor on an emulated board: embedded/demo
demo: dependencies
ifneq (,$(filter --accessory,$(ARGUMENTS)))
	swift build --product byway
	BYWAY="$$(swift build --show-bin-path)/byway" embedded/demo $(filter-out --accessory,$(ARGUMENTS))
else
	swift run byway demo $(ARGUMENTS)
endif

# make test ARGUMENTS='--filter Ping'
# Tests with processes use the release build of the command, because they also check its memory.
test: release gateway peers
	BYWAY="$$(swift build $(RELEASE) --show-bin-path)/byway" BYWAY_GATEWAY="$$(swift build $(RELEASE) --show-bin-path)/byway-gateway" scripts/test $(ARGUMENTS)

# Tests on real drivers, in an emulated PC: docs/design/testing-with-a-device.md.
test-device: release
	@scripts/install-dependencies device
	BYWAY="$$(swift build $(RELEASE) --show-bin-path)/byway" Tests/Device/run-all $(ARGUMENTS)

# The soak test, for half an hour. The last lines list its findings.
soak: release
	python3 Tests/Soak/soak.py --byway "$$(swift build $(RELEASE) --show-bin-path)/byway" $(ARGUMENTS)

# A minute of requests while system calls of both ends fail at random: Tests/Faults.
faults: release
	python3 Tests/Soak/soak.py --byway "$$(swift build $(RELEASE) --show-bin-path)/byway" --links unix,serial --minutes 1 --clients 8 \
	  --faults 20000 --undisturbed $(ARGUMENTS)

# A simulated day of two daemons in an hour: reloads, cut links, a restarted origin, fifty clients.
soak-daemons: release
	python3 Tests/Soak/day.py --byway "$$(swift build $(RELEASE) --show-bin-path)/byway" $(ARGUMENTS)

format:
	swift format -i -r -p $(SOURCES)

lint:
	swift format lint -r -p --strict $(SOURCES)

# The documentation of each library, in .build/docs. Uses the debug build, and makes it if it is missing.
docs: dependencies
	@scripts/install-dependencies checks
	scripts/build-docs

# Checks of the repository that a reviewer would otherwise make.
files:
	@scripts/install-dependencies checks
	scripts/check-files
	scripts/check-imports
	scripts/check-promises
	scripts/check-words
	scripts/check-waits
	scripts/check-listings
	scripts/check-links
	scripts/check-commits

check: lint files dependencies
	swift build --build-tests

release: dependencies
	swift build $(RELEASE)
	@echo "$$(swift build $(RELEASE) --show-bin-path)/byway"

# byway-gateway, the small gateway: docs/small-boards.md. Fails above its limit of size, or if it contains Foundation.
gateway: dependencies
	swift build $(GATEWAY)
	scripts/check-gateway .build/byway-gateway.map "$$(swift build $(RELEASE) --show-bin-path)/byway-gateway"

# Installs the command with units, manual pages, completions and example files: make install PREFIX=/usr/local DESTDIR=
install: release
	PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" packaging/install "$$(swift build $(RELEASE) --show-bin-path)/byway"

# A Debian package, in .build. Findings of lintian are errors.
deb: release
	@scripts/install-dependencies package
	packaging/build-deb "$$(swift build $(RELEASE) --show-bin-path)/byway" .build

# The size of each part of the command.
size: dependencies
	swift build $(RELEASE) -Xlinker -Map=.build/byway.map
	scripts/size-of-parts .build/byway.map
	scripts/size-of-links .build/byway.map "$$(swift build $(RELEASE) --show-bin-path)/byway"
	@stat -c '%n: %s bytes' "$$(swift build $(RELEASE) --show-bin-path)/byway"

# The picture in README.md: scripts/take-screenshot.
screenshot: release peers
	scripts/take-screenshot "$$(swift build $(RELEASE) --show-bin-path)/byway"

# Fails if a request takes more instructions than Benchmarks/instructions.py allows.
cost: release peers
	python3 -B Benchmarks/instructions.py --byway "$$(swift build $(RELEASE) --show-bin-path)/byway" --check

# Tests the end of the line in C, with the command's checks: embedded/reference-c.
reference-c: release
	BYWAY="$$(swift build $(RELEASE) --show-bin-path)/byway" embedded/reference-c/check

# The firmware kit as a static library for each target, in .build/firmware, and its sizes: embedded/c.
firmware:
	@scripts/install-dependencies firmware
	embedded/sizes .build/firmware

# The line for browsers as WebAssembly, in Sources/BywayBrowserFiles/Site, and the sizes of what a browser loads.
wasm:
	embedded/browser/build

# Tests the firmware kit, the sensor on an emulated board, and the module for browsers: embedded/check, embedded/browser/check.
test-firmware: release
	@scripts/install-dependencies firmware
	BYWAY="$$(swift build $(RELEASE) --show-bin-path)/byway" embedded/check $(ARGUMENTS)
	BYWAY="$$(swift build $(RELEASE) --show-bin-path)/byway" embedded/browser/check

# Random input to the firmware kit on this machine, under sanitizers: make fuzz-firmware ARGUMENTS='--minutes 30'
fuzz-firmware:
	@scripts/install-dependencies firmware
	embedded/fuzz $(ARGUMENTS)

# byway-mini and its Debian packages for each architecture, in embedded/mini/build, and its sizes: docs/small-boards.md.
mini:
	@scripts/install-dependencies mini
	$(MAKE) -s -C embedded/mini
	embedded/mini/sizes
	embedded/mini/packages
	packaging/openwrt/check embedded/mini/build

# Tests byway-mini on each architecture: embedded/mini/check.
test-mini: release mini
	BYWAY="$$(swift build $(RELEASE) --show-bin-path)/byway" embedded/mini/check $(ARGUMENTS)

# make bench ARGUMENTS='--seconds 5'
bench: release peers
	python3 Benchmarks/gateway.py --byway "$$(swift build $(RELEASE) --show-bin-path)/byway" $(ARGUMENTS)

# make bench-serial ARGUMENTS='--seeds 1'
bench-serial: release peers
	python3 Benchmarks/serial.py --byway "$$(swift build $(RELEASE) --show-bin-path)/byway" --plot docs/goodput.svg $(ARGUMENTS)

# Each folder is an executable of this package, or has its own script.
examples: export BUILD_FOLDER := $(CURDIR)/.build
examples: dependencies peers
	@set -e; for folder in $(wildcard examples/*/); do \
	  name=$$(basename $$folder); echo "--- $$name"; \
	  if [ -x $$folder/run ]; then timeout 1800 $$folder/run; else timeout 1800 swift run $$name; fi </dev/null; \
	done

# The packages for building. None of them starts a service.
dependencies:
	@scripts/install-dependencies

# The servers and clients that tests, benchmarks and some examples use as peers.
peers:
	@scripts/install-dependencies tests

clean:
	swift package clean
