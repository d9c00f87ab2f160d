"""The installed proxy byway-proxy@local: adapters are devices as soon as they are plugged in."""
import json
import time

from guest import wait_for
from report import expect
from waiting import until

UNIT = "byway-proxy@local.service"
URL = "http://localhost:8080/"
# The list of devices must have a new adapter after this time.
PROMPT = 3
# The adapter is plugged in again if another program may have kept this machine's processors busy meanwhile.
ATTEMPTS = 2
# An emulated processor is slow.
SECONDS = 60
# A device that is away leaves the list after a minute.
LONG = 90


def starts(shell):
    text = shell.run("systemctl enable --now byway-proxy@local 2>&1", SECONDS)
    expect("multi-user.target.wants" in text, text)
    expect(devices(shell) == {}, f"devices: {devices(shell)}")


def stops(shell):
    shell.run("systemctl disable --now byway-proxy@local 2>&1", SECONDS)
    expect(shell.run(f"systemctl is-active {UNIT}", check=False).strip() == "inactive", "it runs")


def appears(shell, machine, serial, name, page=None):
    """Plugs the adapter in, and expects its device in the list in time, and its page."""
    took = []
    while not took or took[-1] > PROMPT:
        expect(len(took) < ATTEMPTS, f"it is listed after {took} s")
        if took:
            # A device that is away keeps its name, so the next attempt would be easier.
            wait_until(shell, lambda states: name not in states)
        machine.plug("adapter", serial)
        start = time.monotonic()
        wait_until(shell, lambda states: states.get(name) not in (None, "away", "unavailable"))
        took.append(time.monotonic() - start)
        expect(f"//{name}.localhost:8080/" in shell.run(f"curl -sS -m 20 {URL}", SECONDS), "it is not on the page")
        if page is not None:
            has_page(shell, name, page)
        machine.unplug("adapter")
        wait_until(shell, lambda states: states.get(name) == "away")


def is_named(shell, machine, serial, page):
    machine.plug("adapter", serial)
    link = wait_for(shell, "byway ports | grep -o '^serial:usb:[^ ]*'", SECONDS).strip()
    shell.run(f"printf '[device hall]\\nlink = {link}\\n' >>/etc/byway/local.conf && systemctl reload {UNIT}", SECONDS)
    has_page(shell, "hall", page)


def has_page(shell, name, page):
    text = wait_for(shell, f"curl -sS --fail -m 20 http://{name}.localhost:8080/", SECONDS)
    expect(text == page, f"another page: {text}")


def wait_until(shell, is_so):
    """Waits for the states of the listed devices."""
    until(lambda: is_so(devices(shell)), LONG, lambda: f"devices: {devices(shell)}")


def devices(shell):
    """Returns the states of the listed devices by their names."""
    text = shell.run(f"curl -sS --fail -m 20 {URL}devices.json", SECONDS)
    return {device["name"]: device["state"] for device in json.loads(text)["devices"]}
