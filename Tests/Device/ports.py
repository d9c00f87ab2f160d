"""Names, settings and exclusive use of ports."""
import json

from guest import settings, wait_for
from report import expect


def lists_adapter(shell, serial):
    wait_for(shell, "test -e /dev/ttyUSB0", 10)
    expect(device(shell, serial) == "/dev/ttyUSB0", "it is another device")
    expect(address(serial) in shell.run("byway ports"), "people do not get to see what programs do")


def address(serial):
    return f"serial:usb:0403:6001:{serial}"


def device(shell, serial):
    """Returns the current device name of an adapter."""
    ports = json.loads(shell.run("byway ports --json"))
    matches = [port for port in ports if port["address"] == address(serial)]
    expect(len(matches) == 1, f"{address(serial)} is not among {ports}")
    expect(matches[0].get("name"), f"it has no name: {matches[0]}")
    return matches[0]["device"]


def lists_uart(shell):
    devices = [port["device"] for port in json.loads(shell.run("byway ports --json"))]
    expect("/dev/ttyS1" in devices, f"/dev/ttyS1 is not among {devices}")
    expect("/dev/ttyS3" not in devices, f"/dev/ttyS3 has no hardware, but is among {devices}")


def is_set(shell, device, speed, **wanted):
    raw = {"icanon": False, "echo": False, "isig": False, "ixon": False, "icrnl": False, "opost": False, "cs8": True}
    expect_settings(shell, device, speed, {**raw, **wanted})


def make_fresh(shell, device):
    """Resets a port to default settings, since the kernel has set its console's port."""
    shell.run(f"stty -F {device} 9600 sane")


def expect_settings(shell, device, speed, wanted):
    flags, actual = settings(shell, device)
    expect(actual == speed, f"{device} runs at {actual}")
    for flag, value in wanted.items():
        expect(flags.get(flag) == value, f"{device} has {'-' if value else ''}{flag}")


def hands_up_at_once(shell):
    timer = shell.run("cat /sys/class/tty/ttyUSB0/device/latency_timer").strip()
    expect(timer == "1", f"the adapter holds bytes for {timer} ms")


def is_refused(shell, device, holder):
    text = shell.run(f"byway gateway --link serial:{device} --origin http://127.0.0.1:80", check=False)
    expect(f"in use by process {holder.process}" in text, f"a second gateway says: {text}")


def is_left_fresh(shell, device):
    """Checks that a port has the settings of `make_fresh`."""
    expect_settings(shell, device, 9600, {"icanon": True, "echo": True, "opost": True, "parenb": False, "crtscts": False})


def is_restored(shell, gateway, device):
    """Checks that a gateway restores a port's settings when it stops."""
    status = gateway.end("TERM")
    expect(status == "0", f"the gateway ends with status {status}")
    is_left_fresh(shell, device)


def starts_again(gateway, proxy):
    gateway.start()
    expect(proxy.get("/", 15), "no page after a stop")
    gateway.end("KILL")
    gateway.start()
    expect(proxy.get("/", 15), "no page after a kill")
