# What people do with this repository. Swift 6.3 and Debian 12 or newer, or what is like it.

# Here warnings of this package are errors; Package.swift looks at this.
check release install deb size: export WARNINGS_AS_ERRORS := 1
release install deb size test test-device soak soak-daemons faults bench bench-serial: export SMALL_COMMAND := 1

SOURCES := Package.swift Sources Tests transports Fuzz Benchmarks $(wildcard examples)

# A small command (docs/design/size.md): the Swift libraries inside, what nobody calls left out, no unwind tables, relocations packed
# where the C library can read them (glibc 2.36). An idle gateway needs a fifth less memory than one that is linked dynamically.
GLIBC := $(lastword $(shell getconf GNU_LIBC_VERSION))
RELR := $(shell printf '2.36\n%s\n' '$(GLIBC)' | sort -CV && echo -Xlinker -z -Xlinker pack-relative-relocs)
# What nobody calls can be left out only where each function has a section of its own, and no public one counts as used.
SECTIONS := -Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -Xfrontend -Xswiftc -internalize-at-link \
  $(foreach compiler,cc cxx,-X$(compiler) -ffunction-sections -X$(compiler) -fdata-sections)
RELEASE := -c release --static-swift-stdlib --disable-local-rpath --product byway -Xswiftc -enforce-exclusivity=unchecked $(SECTIONS) \
  -Xswiftc -use-ld=lld -Xlinker --gc-sections -Xlinker --no-export-dynamic -Xlinker --icf=all -Xlinker -s \
  -Xlinker --no-eh-frame-hdr -Xlinker -T -Xlinker scripts/release.ld $(RELR)

.PHONY: build size test test-device soak soak-daemons faults demo docs format lint files check release install deb bench bench-serial examples \
  dependencies peers clean

build: dependencies
	swift build

# make demo ARGUMENTS=--once
demo: dependencies
	swift run byway demo $(ARGUMENTS)

# make test ARGUMENTS='--filter Ping'
# What runs as a process is the command that users get: how much memory it takes is tested too.
test: release peers
	BYWAY="$$(swift build $(RELEASE) --show-bin-path)/byway" scripts/test $(ARGUMENTS)

# On real drivers, in a PC in software: docs/design/testing-with-a-device.md.
test-device: release
	@scripts/install-dependencies device
	BYWAY="$$(swift build $(RELEASE) --show-bin-path)/byway" Tests/Device/run-all $(ARGUMENTS)

# Half an hour of everything at once. What it finds wrong is in its last lines.
soak: release
	python3 Tests/Soak/soak.py --byway "$$(swift build $(RELEASE) --show-bin-path)/byway" $(ARGUMENTS)

# A minute of requests while system calls of both ends fail at random: Tests/Faults.
faults: release
	python3 Tests/Soak/soak.py --byway "$$(swift build $(RELEASE) --show-bin-path)/byway" --links unix,serial --minutes 1 --clients 8 \
	  --faults 20000 --undisturbed $(ARGUMENTS)

# A day of daemons in an hour: reloads, cut links, a restarted origin, fifty clients.
soak-daemons: release
	python3 Tests/Soak/day.py --byway "$$(swift build $(RELEASE) --show-bin-path)/byway" $(ARGUMENTS)

format:
	swift format -i -r -p $(SOURCES)

lint:
	swift format lint -r -p --strict $(SOURCES)

# Of each library, in .build/docs. Needs what the debug build has made, and makes it where there is none.
docs: dependencies
	@scripts/install-dependencies checks
	scripts/build-docs

# What a reviewer would have to look at otherwise.
files:
	@scripts/install-dependencies checks
	scripts/check-files
	scripts/check-imports
	scripts/check-promises
	scripts/check-words
	scripts/check-listings
	scripts/check-commits

check: lint files dependencies
	swift build --build-tests

release: dependencies
	swift build $(RELEASE)
	@echo "$$(swift build $(RELEASE) --show-bin-path)/byway"

# With units, manual pages, completions and examples of its files: make install PREFIX=/usr/local DESTDIR=
install: release
	PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" packaging/install "$$(swift build $(RELEASE) --show-bin-path)/byway"

# A Debian package, in .build. What lintian finds in it is an error.
deb: release
	@scripts/install-dependencies package
	packaging/build-deb "$$(swift build $(RELEASE) --show-bin-path)/byway" .build

# What the command consists of.
size: dependencies
	swift build $(RELEASE) -Xlinker -Map=.build/byway.map
	scripts/size-of-parts .build/byway.map
	@stat -c '%n: %s bytes' "$$(swift build $(RELEASE) --show-bin-path)/byway"

# make bench ARGUMENTS='--seconds 5'
bench: release peers
	python3 Benchmarks/gateway.py --byway "$$(swift build $(RELEASE) --show-bin-path)/byway" $(ARGUMENTS)

# make bench-serial ARGUMENTS='--seeds 1'
bench-serial: release peers
	python3 Benchmarks/serial.py --byway "$$(swift build $(RELEASE) --show-bin-path)/byway" --plot docs/goodput.svg $(ARGUMENTS)

# Each folder is an executable of this package, or has a script of its own.
examples: export BUILD_FOLDER := $(CURDIR)/.build
examples: dependencies peers
	@set -e; for folder in $(wildcard examples/*/); do \
	  name=$$(basename $$folder); echo "--- $$name"; \
	  if [ -x $$folder/run ]; then timeout 1800 $$folder/run; else timeout 1800 swift run $$name; fi </dev/null; \
	done

# What building needs, and nothing that would start on somebody's machine.
dependencies:
	@scripts/install-dependencies

# The servers and clients at the other ends of tests, benchmarks and some examples.
peers:
	@scripts/install-dependencies tests

clean:
	swift package clean
