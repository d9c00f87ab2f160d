"""What was tried, one line each, and at the end how many held."""
import contextlib
import subprocess
import termios
import time

# Everything by which a check can fail; others are mistakes in these files.
FAILURES = (AssertionError, OSError, ValueError, subprocess.SubprocessError, termios.error)


class GivenUp(BaseException):
    """Time is up. No check may take it for its own failure."""


class Report:
    def __init__(self):
        self.logs = {}
        self.passed = self.failed = 0

    def add_log(self, text):
        """A function for what a part has said so far: the end of what is new is shown with a failure."""
        self.logs[text] = ""

    def check(self, sentence, action, *arguments, **options):
        """Whether it held."""
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
        """What goes wrong between checks counts as one that failed."""
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
        """The process's status."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed or not self.passed else 0


def indented(text):
    return "".join(f"     {line}\n" for line in str(text).splitlines())


def expect(condition, text):
    if not condition:
        raise AssertionError(text)
