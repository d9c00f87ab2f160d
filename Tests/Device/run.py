#!/usr/bin/env python3
"""byway on real drivers, in an emulated PC whose serial lines end on this machine.

    python3 Tests/Device/run.py --byway .build/release/byway
    python3 Tests/Device/run.py --byway .build/release/byway --packages OLD.deb NEW.deb

The second one installs the package in a Debian, and goes from one version to the other. One line for each thing that is tried, then "N passed, N failed". docs/design/testing-with-a-device.md says what is where.
"""
import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Support"))

from box import Box  # noqa: E402
from installed import Installed  # noqa: E402
from report import GivenUp, Report  # noqa: E402

KERNEL = HERE.parent.parent / ".build" / "kernel"
# The cache of disks.
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "byway"
# The time limit in total. An idle machine takes 2 minutes, or 3 for the packages.
LIMIT = 480


def main():
    options = parse()
    for number in [signal.SIGALRM, signal.SIGTERM]:
        signal.signal(number, give_up)
    signal.alarm(LIMIT)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="byway-device-") as name, report.guard("the device starts"):
        with make_box(options, pathlib.Path(name), report) as box, report.guard("all of it is tried"):
            box.run()
    sys.exit(report.finish())


def make_box(options, folder, report):
    if options.packages:
        return Installed(options.byway, options.kernel, options.packages, CACHE, folder, report)
    return Box(options.byway, options.kernel, folder, report)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument(
        "--kernel", metavar="FOLDER", type=pathlib.Path, default=KERNEL,
        help="vmlinuz and modules/; Debian's are fetched if there is none")
    parser.add_argument(
        "--packages", metavar="DEB", nargs=2, help="install the first one in a Debian, upgrade to the second, remove it")
    options = parser.parse_args()
    if not os.access(options.byway, os.X_OK):
        parser.error(f"{options.byway} is not a command: make release")
    if subprocess.run([HERE / "fetch-kernel", options.kernel], timeout=300).returncode != 0:
        sys.exit(1)
    return options


def give_up(number, _):
    raise GivenUp(f"ended by {signal.Signals(number).name}; all must be over in {LIMIT} s")


if __name__ == "__main__":
    main()
