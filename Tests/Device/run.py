#!/usr/bin/env python3
"""A device in a box: byway on real drivers, in a PC in software whose serial lines end on this machine.

    python3 Tests/Device/run.py --byway .build/release/byway

One line for each thing that is tried, then "N passed, N failed". docs/testing-with-a-device.md says what is where.
"""
import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from box import Box
from report import GivenUp, Report

HERE = pathlib.Path(__file__).resolve().parent
KERNEL = HERE.parent.parent / ".build" / "device-kernel"
# Whatever hangs. An idle machine takes a minute and a half.
LIMIT = 480


def main():
    options = parse()
    for number in [signal.SIGALRM, signal.SIGTERM]:
        signal.signal(number, give_up)
    signal.alarm(LIMIT)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="byway-device-") as name, report.guard("the device starts"):
        with Box(options.byway, options.kernel, pathlib.Path(name), report) as box, report.guard("all of it is tried"):
            box.run()
    sys.exit(report.finish())


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument(
        "--kernel", metavar="FOLDER", type=pathlib.Path, default=KERNEL,
        help="vmlinuz and modules/; Debian's are fetched if there is none")
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
