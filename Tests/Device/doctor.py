"""byway doctor on real drivers: its findings, and the port's settings afterwards."""
import contextlib
import json
import os
import select
import threading
import tty

from guest import wait_for
from report import expect

# byway doctor itself may take 20 s; the device is slow.
SECONDS = 60


def examine(shell, link):
    """Returns the report of byway doctor."""
    text = shell.run(f"byway doctor --json '{link}'", SECONDS, check=False)
    lines = [line for line in text.splitlines() if line.startswith("{")]
    expect(len(lines) == 1, f"byway doctor says: {text}")
    return json.loads(lines[0])


def finds(shell, link, fault):
    report = examine(shell, link)
    expect(report.get("fault") == fault, f"{fault} was to be found: {report}")
    expect(report["seconds"] < 20, f"it took {report['seconds']} s")
    return report


def finds_silence(shell, link):
    cable = saw(finds(shell, link, "silence"), "cable")
    expect("CTS" in cable, f"the 16550 has modem lines: {cable}")


def is_sound(shell, link):
    report = finds(shell, link, None)
    expect(report["verdict"] == "sound", f"it is not sound: {report}")
    return report


def is_sound_adapter(shell, link):
    latency = saw(is_sound(shell, link), "latency")
    expect("after 1 ms" in latency, f"the adapter's timer: {latency}")


def saw(report, check):
    return next(step.get("saw", "") for step in report["steps"] if step["check"] == check)


@contextlib.contextmanager
def loop_back(line):
    """Echoes bytes at this machine's end of a line."""
    descriptor = os.open(line, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(descriptor)
    is_over = threading.Event()

    def copy():
        while not is_over.is_set():
            if select.select([descriptor], [], [], 0.1)[0]:
                os.write(descriptor, os.read(descriptor, 4096))

    thread = threading.Thread(target=copy)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        os.close(descriptor)


@contextlib.contextmanager
def getty(shell, device):
    """A login in the device that has the port open."""
    process = shell.run(f"setsid getty -L 115200 {device.removeprefix('/dev/')} vt100 </dev/null >/dev/null 2>&1 & echo $!").strip()
    try:
        wait_for(shell, f"ls -l /proc/{process}/fd | grep {device}", 10)
        yield
    finally:
        shell.run(f"kill -9 {process}", check=False)
