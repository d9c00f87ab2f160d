"""Debian in the device: a cached root disk with systemd, and the initramfs that starts it."""
import hashlib
import os
import pathlib
import shutil
import stat
import subprocess

import initramfs

HERE = pathlib.Path(__file__).resolve().parent
SUITE = "bookworm"
# systemd as the first process, and the package's dependencies.
PACKAGES = [
    "usr-is-merged", "systemd", "systemd-sysv", "udev", "kmod", "mount", "passwd", "curl", "libstdc++6", "libnghttp2-14",
    "libserialport0", "libpsl5", "libssh2-1", "zlib1g",
]
# Documentation is not needed there.
LEFT_OUT = ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*"]
SIZE = "700M"
MODULES = ["xhci-pci", "ftdi_sio", "virtio-pci", "virtio-blk", "crc32c_generic", "ext4"]
BUILD_SECONDS = 600


def disk(folder):
    """Returns the root disk, which users must not change. Creating it takes a minute."""
    recipe = hashlib.sha256(repr([SUITE, PACKAGES, LEFT_OUT, SIZE]).encode()).hexdigest()[:12]
    image = folder / f"debian-{SUITE}-{recipe}.ext4"
    if not image.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("debian-*.ext4"):
            old.unlink()
        make(image)
    return image


def make(image):
    root = image.with_suffix(".root")
    draft = image.with_suffix(".draft")
    as_root = [] if os.getuid() == 0 else ["sudo"]
    options = [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
    try:
        run(*as_root, "mmdebstrap", "--variant=essential", f"--include={','.join(PACKAGES)}", *options, SUITE, root)
        # Packages installed later must be complete.
        run(*as_root, "rm", "-f", root / "etc/dpkg/dpkg.cfg.d/99mmdebstrap")
        run(*as_root, "/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-d", root, draft, SIZE)
        run(*as_root, "chown", str(os.getuid()), draft)
        draft.rename(image)
    finally:
        run(*as_root, "rm", "-rf", root, draft)


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BUILD_SECONDS)
    if done.returncode != 0:
        raise OSError(f"{command} ends with status {done.returncode}: {done.stderr[-2000:]}")


def start_files(modules, payload):
    """Returns the initramfs, which loads the disk's drivers and switches to the disk. The payload's files are in /run/box there, by
    their names."""
    archive = initramfs.Archive()
    for folder in ["bin", "dev", "proc", "sys", "root"]:
        archive.add_folder(folder)
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    initramfs.add_program(archive, "bin/busybox", shutil.which("busybox") or "")
    archive.add("bin/sh", stat.S_IFLNK | 0o777, b"busybox")
    initramfs.add_modules(archive, modules, MODULES, [])
    archive.add_file("init", HERE / "debian" / "init")
    archive.add_file("units/box-shell.service", HERE / "debian" / "box-shell.service")
    for name, path in payload.items():
        archive.add_file(f"payload/{name}", path)
    return archive.finished()
