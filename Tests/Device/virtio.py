"""Links over a virtio serial port, between the device and this machine."""
import json

from doctor import finds
from guest import wait_for
from report import expect
from traffic import answers

PORT = "org.byway.link"
LINK = f"virtio:{PORT}"


def is_listed(shell):
    expect(device(shell).startswith("/dev/vport"), "it is not a virtio port")


def device(shell):
    ports = json.loads(shell.run("byway ports --json"))
    devices = [port["device"] for port in ports if port["address"] == LINK]
    expect(len(devices) == 1, f"{LINK} is not among {ports}")
    return devices[0]


def finds_faults(shell):
    report = finds(shell, "virtio:org.byway.lonk", "no-file")
    expect(LINK in json.dumps(report), f"the report does not name the port that exists: {report}")
    finds(shell, LINK, "nobody-listens")


def waits(shell, gateway):
    """Checks that a gateway waits for the host's end, and says so."""
    gateway.start()
    wait_for(shell, f"grep 'Nothing is connected to the host' {gateway.log}", 20)


def is_refused(shell, gateway):
    text = shell.run(f"byway gateway --link {LINK} --origin http://127.0.0.1:80", 20, check=False)
    expect("is in use by another program" in text, f"a second gateway says: {text}")


def outlives_host(make_proxy, shell, gateway, page):
    """Checks that the gateway serves the next program at the host's end."""
    wait_for(shell, f"grep 'Line lost' {gateway.log}", 20)
    with make_proxy() as proxy:
        answers(proxy, page)


def outlives_restart(proxy, gateway, page):
    """Checks that the proxy keeps its end while the gateway is killed and started again."""
    gateway.end("KILL")
    gateway.start()
    answers(proxy, page)
