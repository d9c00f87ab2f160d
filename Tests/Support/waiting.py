"""Waits of the checks in Python."""
import time


def until(condition, seconds, what):
    """Returns the first true value of a condition.

    Raises: `TimeoutError` with a text, or with what a function returns, if there is none in that time.
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(what() if callable(what) else what)
        time.sleep(0.02)
    return value
