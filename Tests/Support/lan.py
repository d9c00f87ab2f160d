#!/usr/bin/env python3
"""Runs a command in a separate network with Avahi, and lists what is published there.

    lan.py -- COMMAND [ARGUMENT …]

The network has one address besides loopback, 192.0.2.7, and a D-Bus of its own; nothing of it reaches this machine's. The command
is there before Avahi's daemon is, sees it go and come again, and is ended. Writes the services after each step as JSON.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from waiting import until

PATIENCE = 20
ADDRESS = "192.0.2.7"
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path={bus}</listen><auth>EXTERNAL</auth><policy context="default">
<allow user="*"/><allow own="*"/><allow send_destination="*" eavesdrop="true"/>
<allow receive_sender="*" eavesdrop="true"/></policy></busconfig>
"""
AVAHI = """[server]
host-name=hub
use-ipv6=no
allow-interfaces=lo
[wide-area]
enable-wide-area=no
"""


def main():
    command = sys.argv[sys.argv.index("--") + 1:]
    if "LAN_INSIDE" not in os.environ:
        needed = {"avahi-daemon": "avahi-daemon", "avahi-browse": "avahi-utils", "dbus-daemon": "dbus-daemon"}
        for program, package in needed.items():
            if not shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin"):
                sys.exit(f"{program} is missing: apt install {package}")
        rights = [] if os.geteuid() == 0 else ["--map-root-user"]
        os.environ["LAN_INSIDE"] = "yes"
        os.execvp("unshare", ["unshare", *rights, "--net", "--mount", sys.executable, __file__, "--", *command])
    with tempfile.TemporaryDirectory(prefix="lan-") as name, contextlib.ExitStack() as parts:
        run(pathlib.Path(name), parts, command)


def run(folder, parts, command):
    for words in ["link set lo up", f"address add {ADDRESS}/24 dev lo", "link set lo multicast on",
                  "route add 224.0.0.0/4 dev lo"]:
        subprocess.run(["ip", *words.split()], check=True)
    # The folder of the Avahi daemon's socket and process id.
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    bus = folder / "bus"
    (folder / "bus.conf").write_text(BUS.format(bus=bus))
    (folder / "avahi.conf").write_text(AVAHI)
    os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={bus}"
    log = open(folder / "log", "w")
    start(parts, log, "dbus-daemon", f"--config-file={folder / 'bus.conf'}", "--nofork", "--nopidfile")
    until(bus.exists, PATIENCE, "there is no D-Bus")
    program = start(parts, log, *command)
    report = {}
    daemon = start_avahi(parts, log, folder)
    report["published"] = services(wanted=True)
    end(daemon)
    daemon = start_avahi(parts, log, folder)
    report["again"] = services(wanted=True)
    report["addresses"] = subprocess.run(
        ["avahi-resolve-host-name", "-4", *[service["host"] for service in report["again"]]], capture_output=True, text=True,
        timeout=PATIENCE).stdout
    end(program)
    report["status"] = program.returncode
    report["afterwards"] = services(wanted=False)
    log.flush()
    report["log"] = (folder / "log").read_text(errors="replace")
    print(json.dumps(report))


def start_avahi(parts, log, folder):
    options = ["--no-drop-root", "--no-chroot", "--no-rlimits", "--no-proc-title"]
    path = shutil.which("avahi-daemon", path=f"{os.environ['PATH']}:/usr/sbin")
    return start(parts, log, path, "-f", str(folder / "avahi.conf"), *options)


def start(parts, log, *command):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    parts.callback(end, process)
    return process


def end(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def services(wanted):
    """Waits until something is published, or until nothing is any more, and returns the list."""
    found = []

    def is_so():
        found[:] = browse("_http._tcp") + browse("_https._tcp")
        return bool(found) == wanted

    with contextlib.suppress(TimeoutError):
        until(is_so, PATIENCE, "")
    return sorted(found, key=lambda service: service["host"])


def browse(kind):
    lines = subprocess.run(
        ["avahi-browse", "--resolve", "--terminate", "--parsable", kind], capture_output=True, text=True,
        timeout=PATIENCE).stdout
    fields = [line.split(";") for line in lines.splitlines() if line.startswith("=")]
    return [{"title": unescaped(words[3]), "kind": kind, "host": words[6], "address": words[7], "port": int(words[8])}
            for words in fields]


def unescaped(text):
    """Decodes \\DDD escapes: a backslash and three decimal digits for each byte that is not a letter or digit."""
    parts = text.split("\\")
    data = parts[0].encode() + b"".join(bytes([int(part[:3])]) + part[3:].encode() for part in parts[1:])
    return data.decode(errors="replace")


main()
