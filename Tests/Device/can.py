"""Links over ISO-TP on the emulated CAN bus of the device's kernel, whose two ends are both in the device."""
import hashlib
import re

from doctor import finds
from guest import wait_for
from report import expect

INTERFACE = "vcan0"
# The identifiers of the gateway and of its client.
ECU, TESTER = "7E8", "7E0"
LONG = "18DAF110", "18DA10F1"
# Bytes per second.
RATE, FASTEST = 25_000, 1_000_000
SECONDS = 60


def link(tx, rx, **options):
    return "&".join([f"can:{INTERFACE}?tx={tx}&rx={rx}", *(f"{name}={value}" for name, value in options.items())])


CLIENT = link(TESTER, ECU)


def waits(shell, gateway):
    gateway.start()
    wait_for(shell, f"grep 'There is no CAN interface {INTERFACE}' {gateway.log}", 20)


def finds_faults(shell):
    finds(shell, CLIENT, "no-file")
    shell.run(f"ip link add {INTERFACE} type vcan")
    finds(shell, CLIENT, "no-route")
    shell.run(f"ip link set {INTERFACE} up")


def answers(shell, page):
    text = shell.run(f"byway request --link '{CLIENT}' http://localhost/", 20)
    expect(page.decode().strip() in text, f"no page, but {text}")


def download(shell, address, random):
    """Returns the seconds that a file of 100 KB takes, with the start of the program."""
    text = shell.run(f"time -p byway request --link '{address}' http://localhost/random >/tmp/can", SECONDS)
    digest = shell.run("sha256sum /tmp/can")
    expect(hashlib.sha256(random).hexdigest() in digest, f"the file has another digest: {digest} {text}")
    return float(re.search(r"real ([\d.]+)", text)[1])


def is_limited(shell, random):
    seconds = download(shell, CLIENT, random)
    # The line may use a little that was left over while it was idle.
    expect(seconds > 0.9 * len(random) / RATE, f"it takes only {seconds} s")


def survives_outage(shell, random):
    wait = "until [ $(wc -c </tmp/can) -gt 10000 ]; do sleep 0.02; done"
    # Real time: the length of the outage.
    outage = f"{wait}; ip link set {INTERFACE} down; sleep 1; ip link set {INTERFACE} up; echo over"
    shell.run(f">/tmp/can; ({outage}) >/tmp/outage 2>&1 &")
    download(shell, CLIENT, random)
    expect("over" in shell.run("cat /tmp/outage"), "it ended before the outage")


def outlives_gateway(shell, gateway, page):
    gateway.end("KILL")
    gateway.start()
    address = link(*reversed(LONG), fd="yes", rate=FASTEST)
    text = shell.run(f"byway request --link '{address}' http://localhost/", 20)
    expect(page.decode().strip() in text, f"no page from the next gateway, but {text}")


def refuses_classic(shell):
    """Checks an interface whose frames have 8 bytes."""
    shell.run(f"ip link set {INTERFACE} down; ip link set {INTERFACE} mtu 16; ip link set {INTERFACE} up")
    text = shell.run(f"byway request --link '{link(*reversed(LONG), fd='yes')}' http://localhost/", 20, check=False)
    expect("carries no frames of CAN FD" in text, f"it says: {text}")
