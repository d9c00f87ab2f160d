"""byway-mini as a child process, for sizes and check."""
import os
import pathlib
import platform
import re
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "Tests/Support")]
from waiting import until  # noqa: E402

EMULATORS = {"x86_64": "qemu-x86_64-static", "aarch64": "qemu-aarch64-static", "arm": "qemu-arm-static", "riscv64": "qemu-riscv64-static"}
ARCHITECTURES = ["x86_64-linux-gnu", "aarch64-linux-gnu", "arm-linux-gnueabihf", "riscv64-linux-gnu"]


def program(architecture, name="byway-mini"):
    return HERE / "build" / architecture / name


def is_native(architecture):
    return architecture.split("-")[0] == platform.machine()


def command(architecture, name="byway-mini"):
    emulator = [] if is_native(architecture) else [EMULATORS[architecture.split("-")[0]]]
    return [*emulator, str(program(architecture, name))]


class Mini:
    """A running byway-mini. The block begins when it is ready, and ends it."""

    def __init__(self, architecture, link, target, *options, inherited=(), name="byway-mini"):
        self.native, self.lines, self.address, self.inherited = is_native(architecture), [], None, inherited
        self.arguments = [*command(architecture, name), "--link", link, "--to", target, *options]

    def __enter__(self):
        self.process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        pass_fds=self.inherited)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        try:
            until(lambda: self.address or self.process.poll() is not None, 20, "byway-mini is not ready")
            if not self.address:
                raise RuntimeError(f"byway-mini has ended: {self.lines}")
        except BaseException:
            self.__exit__()
            raise
        self.first_descriptors = self.descriptors()
        return self

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            if ready := re.match(r"byway-mini: (?:ready on|started as \S+, dials) (\S+) → \S+$", line):
                self.address = ready[1]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def has_said(self, text):
        return any(text in line for line in self.lines)

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join(5)
        self.process.stderr.close()
