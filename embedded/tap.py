#!/usr/bin/env python3
"""Judges the results of `byway line --conform`. docs/design/testing.md has the rule for late frames.

    embedded/tap.py FILE…     # prints a sentence; status 0 if all checks hold, 2 if the run may be repeated, otherwise 1
"""
import pathlib
import re
import sys

# A run with fewer checks has not tested the end.
LEAST = 100
# A run with more late frames fails at once.
MOST_LATE = 2
FAILURE = re.compile(r"^not ok (?P<title>(?:(?!# TODO).)*)$\n(?:  .*\n)*?  message: '(?P<message>.*)'$", re.M)
# The time that the tester measures also has the delays of the machine.
LATE = re.compile(r"it came after \d+ ms|it did not come")


class Results:
    """The results of one run, without the failures that are excused by a part of their title."""

    def __init__(self, text, excused=()):
        failures = [found for found in FAILURE.finditer(text) if not any(part in found["title"] for part in excused)]
        self.holding = len(re.findall(r"^ok ", text, re.M))
        self.broken = [f"not ok {failure['title']}: {failure['message']}" for failure in failures]
        self.is_complete = self.holding >= LEAST and "\nBail out!" not in text and re.search(r"^# \d+ passed", text, re.M) is not None
        self.is_good = self.is_complete and not self.broken
        self.may_repeat = (
            self.is_complete and 0 < len(failures) <= MOST_LATE and all(LATE.fullmatch(failure["message"]) for failure in failures)
        )

    def __str__(self):
        return "; ".join([f"{self.holding} checks hold", *self.broken, *([] if self.is_complete else ["the run is not complete"])])


def main():
    status = 0
    for path in sys.argv[1:]:
        results = Results(pathlib.Path(path).read_text())
        print(results)
        if not results.is_good:
            status = 2 if results.may_repeat and status != 1 else 1
    return status


if __name__ == "__main__":
    sys.exit(main())
