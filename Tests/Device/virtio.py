"""Links over a virtio serial port, between the device and this machine."""
import hashlib
import json
import time

from doctor import finds
from guest import wait_for
from report import expect
from traffic import answers

PORT = "org.byway.link"
LINK = f"virtio:{PORT}"
LARGE = 8 << 20
PAGES = 20
# The processor of the device is slow.
SECONDS = 60


def is_listed(shell):
    ports = json.loads(shell.run("byway ports --json"))
    device = [port["device"] for port in ports if port["address"] == LINK]
    expect(len(device) == 1 and device[0].startswith("/dev/vport"), f"{LINK} is not among {ports}")


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


def carries(proxy, shell):
    """Checks a file that is large enough to show the throughput."""
    digest = shell.run(f"dd if=/dev/urandom of=/www/large bs={LARGE} count=1 2>/dev/null; sha256sum </www/large", SECONDS)
    start = time.monotonic()
    body = proxy.get("/large", SECONDS)
    print(f"     {LARGE / (time.monotonic() - start) / 1e6:.1f} MB/s", flush=True)
    expect(len(body) == LARGE and hashlib.sha256(body).hexdigest() in digest, f"{len(body)} other bytes arrived")
    shell.run("rm /www/large")


def answers_in_a_row(proxy, page):
    start = time.monotonic()
    for _ in range(PAGES):
        answers(proxy, page)
    print(f"     {(time.monotonic() - start) / PAGES * 1000:.1f} ms for a page", flush=True)


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
