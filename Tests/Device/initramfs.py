"""The device's file system: one archive with busybox, kernel modules, the command under test, and an origin's files."""
import lzma
import pathlib
import re
import shutil
import stat
import subprocess

GUEST = pathlib.Path(__file__).resolve().parent / "guest"
# The drivers for an FTDI adapter on a USB 3 controller, vsock within the machine, virtio ports, ISO-TP on an emulated CAN bus, and both
# ends of USB gadgets; the kernel has 16550s built in.
MODULES = [
    "xhci-pci", "ftdi_sio", "vsock_loopback", "virtio_pci", "virtio_console", "can-isotp", "vcan", "usb_f_fs", "usb_f_acm",
    "cdc-acm", "udc-core",
]
# Drivers that a check loads.
LATER = ["dummy_hcd", "rfcomm", "hci_vhci"]
# Two emulated controllers of Bluetooth, their settings, and bytes alone over RFCOMM.
BLUETOOTH = {"btvirt": "bluez-test-tools", "btmgmt": "bluez", "rctest": "bluez"}
PAGE = b"<!doctype html><title>A device</title>\n"


def build(byway, modules, random):
    """Returns the archive's bytes. `random` is served as /random."""
    archive = Archive()
    for folder in ["bin", "dev", "proc", "sys", "tmp"]:
        archive.add_folder(folder)
    # The kernel opens it for the first process, before anything is mounted.
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    for path in sorted(GUEST.rglob("*")):
        if path.is_file():
            archive.add_file(str(path.relative_to(GUEST)), path)
    archive.add("www/index.html", stat.S_IFREG | 0o644, PAGE)
    archive.add("www/random", stat.S_IFREG | 0o644, random)
    add_programs(archive, byway)
    add_modules(archive, modules, MODULES, LATER)
    return archive.finished()


def add_programs(archive, byway):
    for name, package in [("busybox", "busybox-static"), ("socat", "socat")]:
        path = shutil.which(name)
        if not path:
            raise FileNotFoundError(f"{name} is not installed: apt install {package}")
        add_program(archive, f"bin/{name}", path)
    add_program(archive, "bin/byway", byway)
    archive.add("bin/sh", stat.S_IFLNK | 0o777, b"busybox")
    for name, package in BLUETOOTH.items():
        program = shutil.which(name)
        if not program:
            raise FileNotFoundError(f"{name} is not installed: apt install {package}")
        add_program(archive, f"bin/{name}", program)


def add_program(archive, name, program):
    """Adds a program with its libraries."""
    archive.add_file(name, program)
    for library in shared_libraries(program):
        archive.add_file(library.lstrip("/"), library)


def shared_libraries(program):
    """Returns the paths of a program's libraries and loader; none for a static program."""
    output = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=10).stdout
    if "not found" in output:
        raise FileNotFoundError(f"{program} lacks libraries:\n{output}")
    return re.findall(r"(/\S+) \(0x", output)


def add_modules(archive, folder, names, later):
    """Adds modules and their dependencies, in loading order. Those in `later` are not loaded at the start."""
    order = []

    def add(name):
        # The kernel's files mix dashes and underscores in module names.
        matches = [path for path in folder.iterdir() if re.sub(r"\.ko.*", "", path.name).replace("-", "_") == name]
        if not matches or name in order:
            return  # not a module: built in
        data = matches[0].read_bytes()
        if matches[0].suffix == ".xz":
            data = lzma.decompress(data)
        needs = re.search(rb"\0depends=([^\0]*)\0", data)
        for need in needs[1].decode().split(",") if needs else []:
            add(need.replace("-", "_"))
        order.append(name)
        archive.add(f"modules/{name}", stat.S_IFREG | 0o644, data)

    for name in [*names, *later]:
        add(name.replace("-", "_"))
    order = [name for name in order if name not in later]
    archive.add("modules/order", stat.S_IFREG | 0o644, "\n".join(order).encode())


class Archive:
    """Returns a cpio archive in the format that kernels read ("newc"; buffer-format.rst in the kernel's documentation)."""

    def __init__(self):
        self.parts = []
        self.names = set()

    def add_folder(self, name):
        if name and name not in self.names:
            self.add(name, stat.S_IFDIR | 0o755)

    def add_file(self, name, path):
        path = pathlib.Path(path)
        self.add(name, stat.S_IFREG | (0o755 if path.stat().st_mode & 0o100 else 0o644), path.read_bytes())

    def add(self, name, mode, data=b"", device=(0, 0)):
        if name in self.names:
            return
        if "/" in name:
            self.add_folder(name.rpartition("/")[0])
        self.names.add(name)
        self.append(name, mode, data, device)

    def append(self, name, mode, data=b"", device=(0, 0)):
        number = len(self.parts) + 1
        encoded = name.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0]
        header = b"070701" + b"".join(b"%08X" % field for field in fields)
        self.parts.append(padded(header + encoded) + padded(data))

    def finished(self):
        self.append("TRAILER!!!", 0)
        return b"".join(self.parts)


def padded(data):
    return data + bytes(-len(data) % 4)
