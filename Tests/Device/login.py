"""A login of busybox on a port of the device, through which the command starts its gateway."""
import contextlib
import os
import subprocess

from guest import ORIGIN, wait_for
from report import expect

USER, PASSWORD = "operator", "open sesame"
# Its MD5 hash, which every libcrypt knows.
HASH = "$1$byway$W3SofldebsfBmoay2Kai3."
SECONDS = 60


@contextlib.contextmanager
def getty(shell, device):
    """A getty that starts again after each session, as init would start it."""
    shell.run(f"mkdir -p /etc /root; echo '{USER}:{HASH}:0:0::/root:/bin/sh' >/etc/passwd; echo root:x:0: >/etc/group")
    name = device.removeprefix("/dev/")
    # Real time: a pause as init would make.
    loop = f"while :; do setsid getty -L 115200 {name} vt100; sleep 0.2; done"
    process = shell.run(f"sh -c '{loop}' </dev/null >/dev/null 2>&1 & echo $!").strip()
    try:
        wait_for(shell, "pidof getty", 10)
        yield
    finally:
        shell.run(f"kill -9 {process}; killall -9 byway getty login", check=False)


def link(line):
    return f"serial:{line}?baud=115200&login={USER}&shell=byway gateway --origin {ORIGIN}"


def push(byway, line, shell, folder):
    """Copies a program that the device can run."""
    program = folder / "hello"
    program.write_text("#!/bin/sh\necho hello from $0\n" + "# " + os.urandom(6000).hex() + "\n")
    run(byway, "push", f"serial:{line}?baud=115200&login={USER}", "--program", str(program), "--to", "/tmp/hello")
    expect(shell.run("/tmp/hello") == "hello from /tmp/hello\n", "it is not executable there")


def requests(byway, line, page):
    for _ in range(2):
        answer = run(byway, "request", "--link", link(line), "/")
        expect(answer.encode() == page, f"another page: {answer}")


def survives_kernel_log(byway, line, shell, page):
    """Requests a page while the kernel writes to the console, which is this port."""
    # Real time: the messages come during the whole request.
    shell.run("dmesg -n 8; (for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo \"message $i\" >/dev/kmsg; sleep 0.1; done) >/dev/null 2>&1 &")
    try:
        answer = run(byway, "request", "--link", link(line), "/")
        expect(answer.encode() == page, f"another page: {answer}")
    finally:
        shell.run("dmesg -n 1")


def starts_again(byway, line, shell, page):
    shell.run("killall -9 byway")
    wait_for(shell, "pidof getty", 10)
    requests(byway, line, page)


def refuses_password(byway, line, shell):
    shell.run("killall -9 byway")
    wait_for(shell, "pidof getty", 10)
    done = command(byway, ["request", "--link", link(line), "/"], "hunter2")
    expect(done.returncode == 69 and "refused twice" in done.stderr, done.stderr)
    expect("hunter2" not in done.stderr, "the password is shown")


def run(byway, *arguments):
    done = command(byway, arguments, PASSWORD)
    expect(done.returncode == 0, f"byway {arguments[0]} ends with status {done.returncode}: {done.stderr}")
    return done.stdout


def command(byway, arguments, password):
    return subprocess.run(
        [byway, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS,
        env={**os.environ, "BYWAY_LINK_PASSWORD": password})
