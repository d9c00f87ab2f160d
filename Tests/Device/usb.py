"""Links over USB within the device: its kernel emulates a controller, which is at the other end of a cable to one of its own ports."""
import json
import re

from doctor import finds
from guest import Gateway, wait_for
from report import expect

ID = "1d6b:0104"
NAME, SERIAL = "link", "BYWAY7"
GADGET = f"usb-gadget:?name={NAME}&serial={SERIAL}"
LINK = f"usb:{ID}:{SERIAL}"
GADGETS = "/sys/kernel/config/usb_gadget"
CONTROLLER = "dummy_udc.0"
LARGE = 10 << 20
# The processor of the device is slow.
SECONDS = 60


def waits(shell, gateway):
    """Checks that a gateway waits for a controller, and that the link is listed when there is one."""
    shell.run("mount -t configfs none /sys/kernel/config")
    gateway.start()
    wait_for(shell, f"grep 'has no USB device controller' {gateway.log}", 20)
    finds(shell, LINK, "no-file")
    shell.run("insmod /modules/dummy_hcd is_super_speed=1")
    wait_for(shell, f"byway ports | grep '{ID}'", 20)
    ports = json.loads(shell.run("byway ports --json"))
    port = next(port for port in ports if port["address"] == f"usb:{ID}")
    expect(port["name"] == "Byway Byway link" and port["device"].startswith("/dev/bus/usb/"), f"it is listed as {port}")


def answers(shell, page):
    text = request(shell, "http://localhost/")
    expect(page.decode().strip() in text, f"no page, but {text}")


def request(shell, url, options="", link=LINK, check=True):
    return shell.run(f"byway request --link '{link}' {options} {url}", SECONDS, check)


def is_refused(shell):
    text = shell.run(f"byway gateway --link '{GADGET}' --origin http://127.0.0.1:80", 20, check=False)
    expect(f"The USB device controller {CONTROLLER} has another gadget, {NAME}" in text, f"a second gateway says: {text}")


def make_large(shell):
    """Returns the digest of a large file that the gateway serves."""
    text = shell.run(f"dd if=/dev/urandom of=/www/large bs={LARGE} count=1 2>/dev/null; sha256sum </www/large", SECONDS)
    return text.split()[0]


def downloads(shell, digest):
    text = timed(shell, f"--link {LINK} -o /tmp/usb http://localhost/large")
    expect(digest in shell.run("sha256sum </tmp/usb"), f"the file has another digest: {text}")


def uploads(shell, digest):
    text = timed(shell, f"--link {LINK} --data-binary @/www/large http://localhost/cgi-bin/sha256")
    expect(digest in text, f"the gateway has received something else: {text}")


def timed(shell, arguments):
    text = shell.run(f"time -p byway request {arguments}", SECONDS)
    show(text)
    return text


def show(text):
    seconds, user, system = (float(re.search(rf"{name} ([\d.]+)", text)[1]) for name in ["real", "user", "sys"])
    print(f"     {LARGE / seconds / 1e6:.1f} MB/s; the receiver's or sender's program: {user:.1f} s, its kernel {system:.1f} s", flush=True)


def survives_replug(shell, gateway, digest):
    """Checks that a download continues after the cable was unplugged in it."""
    before = lost(shell, gateway)
    binding = f"{GADGETS}/{NAME}/UDC"
    unplug = f"until [ $(wc -c </tmp/usb.part) -gt 1000000 ]; do sleep 0.02; done; echo >{binding}; sleep 1; echo {CONTROLLER} >{binding}"
    shell.run(f"rm -f /tmp/usb; >/tmp/usb.part; ({unplug}) >/tmp/unplug.log 2>&1 &")
    request(shell, "http://localhost/large", "-o /tmp/usb")
    expect(digest in shell.run("sha256sum </tmp/usb"), "the file has another digest")
    expect(lost(shell, gateway) > before, "it ended before the cable was unplugged")


def lost(shell, gateway):
    return int(shell.run(f"grep -c 'Line lost' {gateway.log}", check=False))


def outlives_gateway(shell, gateway, page):
    """Checks that the next gateway replaces the gadget of a killed one."""
    gateway.end("KILL")
    expect(NAME in shell.run(f"ls {GADGETS}"), "the gadget of a killed gateway is gone")
    finds(shell, LINK, "no-file")
    gateway.start()
    wait_for(shell, f"byway ports | grep '{ID}'", 20)
    answers(shell, page)


def outlives_proxy(shell, page):
    """Checks that the interface has one user, and is free again when that one was killed in a transfer."""
    command = f"byway request --link {LINK} -o /tmp/usb http://localhost/large"
    process = shell.run(f"rm -f /tmp/usb*; {command} >/tmp/killed.log 2>&1 & echo $!").strip()
    wait_for(shell, "[ $(wc -c </tmp/usb.part) -gt 100000 ]", 20)
    text = request(shell, "http://localhost/", check=False)
    expect("is in use by another program" in text, f"a second user is told: {text}")
    shell.run(f"kill -KILL {process}")
    answers(shell, page)


def is_removed(shell, gateway):
    gateway.end("TERM")
    expect(shell.run(f"ls {GADGETS} /dev/usb-ffs | grep {NAME}", check=False) == "", "the gadget is still there")
    expect("functionfs" not in shell.run("cat /proc/mounts"), "FunctionFS is still mounted")


def make_gadget(shell, name, functions):
    """Creates a gadget with a configuration and functions."""
    root = f"{GADGETS}/{name}"
    shell.run(f"mkdir {root} {root}/configs/c.1; echo 0x1d6b >{root}/idVendor; echo 0x0105 >{root}/idProduct")
    for function in functions:
        shell.run(f"mkdir {root}/functions/{function}; ln -s {root}/functions/{function} {root}/configs/c.1/")


def bind(shell, name):
    shell.run(f"echo {CONTROLLER} >{GADGETS}/{name}/UDC")


def compares_with_serial(shell, digest):
    """Measures the bytes alone over a gadget with a serial port (CDC-ACM), without a link."""
    make_gadget(shell, "serial", ["acm.0"])
    bind(shell, "serial")
    wait_for(shell, "test -e /dev/ttyACM0 && stty -F /dev/ttyACM0 raw -echo && stty -F /dev/ttyGS0 raw -echo", 20)
    reader = f"head -c {LARGE} </dev/ttyACM0 >/tmp/usb & reader=$!"
    text = shell.run(f"time -p sh -c '{reader}; cat /www/large >/dev/ttyGS0; wait $reader'", SECONDS)
    show(text)
    expect(digest in shell.run("sha256sum </tmp/usb"), f"the file has another digest: {text}")
    shell.run(f"echo >{GADGETS}/serial/UDC")


def has_several_links(shell, page):
    """Checks two functions of one gadget, each with a gateway."""
    make_gadget(shell, "two", ["ffs.a", "ffs.b"])
    gateways = []
    for name in ["a", "b"]:
        shell.run(f"mkdir -p /tmp/{name}; mount -t functionfs {name} /tmp/{name}")
        gateway = Gateway(shell, f"usb-{name}", f"usb-gadget:/tmp/{name}")
        gateway.start()
        gateways.append(gateway)
    bind(shell, "two")
    links = [f"usb:1d6b:0105?interface={number}" for number in range(2)]
    wait_for(shell, f"byway ports | grep '{links[1]}'", 20)
    for link in links:
        expect(page.decode().strip() in request(shell, "http://localhost/", link=link), f"no page over {link}")
    # Without a number, a request takes the interface that is free.
    proxy = shell.run(
        f"byway request --link '{links[0]}' -o /tmp/usb http://localhost/large >/tmp/first.log 2>&1 & echo $!").strip()
    wait_for(shell, "[ $(wc -c </tmp/usb.part) -gt 1000 ]", 20)
    expect(page.decode().strip() in request(shell, "http://localhost/", link="usb:1d6b:0105"), "no page over a free interface")
    shell.run(f"kill {proxy}")
    for gateway in gateways:
        # A request over one of them is incomplete.
        gateway.end("KILL")
    shell.run(f"echo >{GADGETS}/two/UDC; umount /tmp/a /tmp/b")
