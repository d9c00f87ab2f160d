"""The device: a PC emulated by QEMU, whose 16550 and FTDI adapter are pseudo-terminals on this machine."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import termios
import time

from qmp import Monitor
from shell import Shell
from waiting import until

PROGRAM = "qemu-system-x86_64"
# Long enough for a loaded machine; an idle one takes 7 s.
BOOT_SECONDS = 120
STEP_SECONDS = 10


class Machine:
    def __init__(self, folder, kernel, initramfs, disk=None):
        self.console = folder / "console.log"
        self.errors = folder / "qemu.log"
        if not shutil.which(PROGRAM):
            raise FileNotFoundError(f"{PROGRAM} is not installed: apt install qemu-system-x86")
        with open(self.errors, "w") as log:
            self.process = subprocess.Popen(
                command(folder, kernel, initramfs, disk), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.monitor = self.shell = None
        self.plugged = set()
        try:
            wait_for([folder / "monitor", folder / "shell"], self.process)
            self.monitor = Monitor(folder / "monitor", STEP_SECONDS)
            self.shell = Shell(folder / "shell")
        except BaseException:
            self.stop()
            raise

    def boot(self):
        self.shell.wait_until_ready(BOOT_SECONDS)

    def terminal(self, chardev):
        """Returns the pseudo-terminal at this machine's end of a line."""
        for entry in self.monitor.command("query-chardev"):
            if entry["label"] == chardev:
                return entry["filename"].removeprefix("pty:")
        raise OSError(f"QEMU has no {chardev}")

    def plug(self, name, serial):
        """Plugs in an FTDI adapter on the chardev of the same name, unless it is plugged in."""
        if name not in self.plugged:
            # Otherwise the adapter would unplug itself whenever the other end of its line is closed.
            self.monitor.command(
                "device_add", driver="usb-serial", id=name, chardev=name, serial=serial, always_plugged=True)
            self.plugged.add(name)

    def unplug(self, name):
        if name in self.plugged:
            # QEMU 7.2 crashes if bytes arrive from the line while it removes the device.
            with held(self.terminal(name)):
                self.monitor.command("device_del", id=name)
                self.monitor.wait_for("DEVICE_DELETED", name)
            self.plugged.remove(name)

    def log_text(self):
        """Returns the output of the kernel and of QEMU."""
        text = "".join(path.read_text(errors="replace") for path in [self.console, self.errors] if path.exists())
        status = self.process.poll()
        return text if status is None else f"{text}\nQEMU has ended with status {status}\n"

    def stop(self):
        for part in [self.monitor, self.shell]:
            if part:
                part.close()
        self.process.kill()
        self.process.wait()


def command(folder, kernel, initramfs, disk):
    def socket(name):
        return ["-chardev", f"socket,id={name},path={folder / name},server=on,wait=off"]

    # Without KVM, so that it runs in a container and on other processors.
    machine = ["-accel", "tcg", "-machine", "pc", "-cpu", "max", "-smp", "1", "-m", "512" if disk else "256"]
    nothing_else = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    # A driver has one console, which is the link's line here; the kernel's early messages go to the first port.
    arguments = "console=ttyS1,115200 earlyprintk=serial,ttyS0,115200,keep panic=-1"
    boot = ["-kernel", kernel, "-initrd", initramfs, "-append", arguments]
    first = ["-chardev", f"file,id=console,path={folder / 'console.log'}", "-device", "isa-serial,chardev=console"]
    second = ["-chardev", "pty,id=uart", "-device", "isa-serial,chardev=uart"]
    control = [*socket("shell"), "-device", "pci-serial,chardev=shell", *socket("monitor")]
    control += ["-mon", "monitor,mode=control"]
    usb = ["-device", "qemu-xhci", "-chardev", "pty,id=adapter", "-chardev", "null,id=other"]
    # A serial port between the device and this machine, without a UART.
    virtio = ["-device", "virtio-serial-pci", *socket("virtio")]
    virtio += ["-device", "virtserialport,chardev=virtio,name=org.byway.link"]
    # Writes to the disk are dropped at the end.
    disks = ["-drive", f"file={disk},format=raw,if=virtio,snapshot=on"] if disk else []
    parts = [machine, nothing_else, boot, first, second, control, usb, virtio, disks]
    return [PROGRAM, *(str(word) for part in parts for word in part)]


@contextlib.contextmanager
def held(terminal):
    """Blocks writes to a pseudo-terminal in a block of code, after a moment for earlier bytes to be sent."""
    descriptor = os.open(terminal, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        termios.tcflow(descriptor, termios.TCOOFF)
        # Real time: a pseudo-terminal does not tell when its other end has read what was sent.
        time.sleep(0.05)
        yield
    finally:
        termios.tcflow(descriptor, termios.TCOON)
        os.close(descriptor)


def wait_for(paths, process):
    def are_there():
        if process.poll() is not None:
            raise OSError(f"QEMU has ended with status {process.returncode}")
        return all(map(pathlib.Path.exists, paths))

    until(are_there, STEP_SECONDS, "QEMU does not start")
