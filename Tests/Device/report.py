"""A report with one line per check, and the number of successes at the end."""
import contextlib
import subprocess
import termios
import time

# The exceptions of failed checks; others are errors in these files.
FAILURES = (AssertionError, OSError, ValueError, subprocess.SubprocessError, termios.error)


class GivenUp(BaseException):
    """The total time is up. No check may treat this as its own failure."""


class Report:
    def __init__(self):
        self.logs = {}
        self.passed = self.failed = 0

    def add_log(self, text):
        """Registers a function that returns a part's output; a failure shows the end of its new output."""
        self.logs[text] = ""

    def check(self, sentence, action, *arguments, **options):
        """Runs a check, and returns whether it succeeded."""
        start = time.monotonic()
        try:
            action(*arguments, **options)
        except FAILURES as failure:
            self.fail(sentence, failure)
            return False
        self.passed += 1
        print(f"PASS {sentence} ({time.monotonic() - start:.1f} s)", flush=True)
        return True

    @contextlib.contextmanager
    def guard(self, sentence):
        """Counts an error between checks as a failed check."""
        try:
            yield
        except (GivenUp, *FAILURES) as failure:
            self.fail(sentence, failure)

    def fail(self, sentence, failure):
        self.failed += 1
        print(f"FAIL {sentence}\n{indented(failure)}", end="", flush=True)
        for log, shown in self.logs.items():
            try:
                text = log()
            except FAILURES as another:
                text = str(another)
            self.logs[log] = text
            print(indented("\n".join(text.removeprefix(shown).splitlines()[-20:])), end="", flush=True)

    def finish(self):
        """Returns the process's exit status."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed or not self.passed else 0


def indented(text):
    return "".join(f"     {line}\n" for line in str(text).splitlines())


def expect(condition, text):
    if not condition:
        raise AssertionError(text)
