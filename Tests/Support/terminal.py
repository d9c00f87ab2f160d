#!/usr/bin/env python3
"""Runs a command on its own terminal, and presses keys in response to its output.

    terminal.py COLUMNS TEXT KEYS [TEXT KEYS …] -- COMMAND [ARGUMENT …]

Waits for each TEXT in what is new of the output and then presses KEYS; KEYS such as SIGQUIT send that signal. Writes what
happened as JSON.
"""

import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 20


def main():
    mark = sys.argv.index("--")
    columns, steps, command = int(sys.argv[1]), sys.argv[2:mark], sys.argv[mark + 1 :]
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    before = termios.tcgetattr(slave)
    child = subprocess.Popen(
        command,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    output, seen, was_changed = b"", 0, False

    def read_until(is_met):
        nonlocal output
        deadline = time.monotonic() + PATIENCE
        while not is_met():
            if time.monotonic() > deadline:
                child.kill()
                sys.exit(f"waited in vain after {output.decode(errors='replace')!r}")
            if select.select([master], [], [], 0.05)[0]:
                output += os.read(master, 65536)

    for text, keys in zip(steps[::2], steps[1::2]):
        read_until(lambda: text.encode() in output[seen:])
        seen = len(output)
        was_changed = was_changed or termios.tcgetattr(slave) != before
        if keys.startswith("SIG"):
            child.send_signal(getattr(signal, keys))
        else:
            os.write(master, keys.encode())
    read_until(lambda: child.poll() is not None)
    # The kernel passes the last words on a moment after they were written.
    while select.select([master], [], [], 0.2)[0]:
        output += os.read(master, 65536)
    report = {
        "output": output.decode(errors="replace"),
        "status": child.returncode,
        "wasChanged": was_changed,
        "isUnchanged": termios.tcgetattr(slave) == before,
    }
    print(json.dumps(report))


main()
