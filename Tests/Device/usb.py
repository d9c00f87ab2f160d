"""Links over USB within the device, whose kernel emulates a controller and a cable to one of its own ports."""
import json

from doctor import finds
from guest import Gateway, wait_for
from report import expect

ID = "1d6b:0104"
NAME, SERIAL = "link", "BYWAY7"
GADGET = f"usb-gadget:?name={NAME}&serial={SERIAL}"
LINK = f"usb:{ID}:{SERIAL}"
GADGETS = "/sys/kernel/config/usb_gadget"
CONTROLLER = "dummy_udc.0"
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


def survives_replug(shell, gateway, digest):
    """Checks that a download continues after the cable was unplugged in it."""
    before = lost(shell, gateway)
    binding = f"{GADGETS}/{NAME}/UDC"
    wait = "until [ $(wc -c </tmp/usb.part) -gt 1000000 ]; do sleep 0.02; done"
    # Real time: the time without a cable.
    unplug = f"{wait}; echo >{binding}; sleep 1; echo {CONTROLLER} >{binding}"
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
    command = f"byway request --link {LINK} -o /tmp/usb http://localhost/cgi-bin/endless"
    process = shell.run(f"rm -f /tmp/usb /tmp/usb.part; {command} >/tmp/killed.log 2>&1 & echo $!").strip()
    wait_for(shell, "[ $(wc -c </tmp/usb.part) -gt 100000 ]", 20)
    text = request(shell, "http://localhost/", check=False)
    expect("is in use by another program" in text, f"a second user is told: {text}")
    shell.run(f"kill -KILL {process}")
    answers(shell, page)


def is_removed(shell, gateway):
    gateway.end("TERM")
    left = shell.run(f"ls -d {GADGETS}/* /dev/usb-ffs/*", check=False)
    expect(NAME not in left, f"the gadget is still there: {left}")
    expect("functionfs" not in shell.run("cat /proc/mounts"), "FunctionFS is still mounted")


def make_gadget(shell, name, functions):
    """Creates a gadget with a configuration and functions."""
    root = f"{GADGETS}/{name}"
    shell.run(f"mkdir {root} {root}/configs/c.1; echo 0x1d6b >{root}/idVendor; echo 0x0105 >{root}/idProduct")
    for function in functions:
        shell.run(f"mkdir {root}/functions/{function}; ln -s {root}/functions/{function} {root}/configs/c.1/")


def bind(shell, name):
    shell.run(f"echo {CONTROLLER} >{GADGETS}/{name}/UDC")


def add_serial(shell):
    """Creates a gadget with a serial port (CDC-ACM)."""
    make_gadget(shell, "serial", ["acm.0"])
    bind(shell, "serial")
    wait_for(shell, "test -e /dev/ttyACM0 && stty -F /dev/ttyACM0 raw -echo && stty -F /dev/ttyGS0 raw -echo", 20)


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
    shell.run("rm -f /tmp/usb /tmp/usb.part")
    proxy = shell.run(
        f"byway request --link '{links[0]}' -o /tmp/usb http://localhost/cgi-bin/endless >/tmp/first.log 2>&1 & echo $!").strip()
    wait_for(shell, "[ $(wc -c </tmp/usb.part) -gt 1000 ]", 20)
    expect(page.decode().strip() in request(shell, "http://localhost/", link="usb:1d6b:0105"), "no page over a free interface")
    shell.run(f"kill {proxy}")
    for gateway in gateways:
        # A request over one of them is incomplete.
        gateway.end("KILL")
    shell.run(f"echo >{GADGETS}/two/UDC; umount /tmp/a /tmp/b")


def has_printer(shell, page):
    """Checks IPP over USB with a printer of two interfaces, which are the standard streams of a web server for one request."""
    make_gadget(shell, "printer", ["ffs.p", "ffs.q"])
    for name in ["p", "q"]:
        serve = "while true; do httpd -i -h /www <ep1 >ep2; done"
        descriptors, strings = octal(printer_descriptors()), octal(printer_strings())
        prepare = f"exec 3<>ep0; printf '{descriptors}' >&3; printf '{strings}' >&3; touch /tmp/{name}.ready"
        shell.run(f"mkdir -p /tmp/{name}; mount -t functionfs {name} /tmp/{name}")
        shell.run(f"(cd /tmp/{name}; {prepare}; {serve}) >/tmp/{name}.log 2>&1 &")
        wait_for(shell, f"test -e /tmp/{name}.ready", 10)
    bind(shell, "printer")
    link = "usb:1d6b:0105?class=ipp&http=1.1"
    wait_for(shell, f"byway ports | grep '{link}'", 20)
    expect(page.decode().strip() in request(shell, "http://localhost/", link=link), "no page of the printer")
    proxy = shell.run(f"byway proxy --link '{link}' --listen 127.0.0.1:6310 >/tmp/printer.log 2>&1 & echo $!").strip()
    wait_for(shell, "grep 'proxy ready' /tmp/printer.log", 20)
    get = "wget -q -O - http://127.0.0.1:6310"
    for _ in range(3):
        expect(page.decode().strip() in shell.run(f"{get}/", 30), "no page of the printer through a proxy")
    jobs = f"jobs=; for i in 1 2; do {get}/index.html >/tmp/page.$i & jobs=\"$jobs $!\"; done; wait $jobs"
    shell.run(jobs, 30)
    expect(shell.run("cat /tmp/page.1 /tmp/page.2").count(page.decode().strip()) == 2, "two pages at once are not complete")
    through = "tcp://127.0.0.1:6310?http=1.1"
    text = request(shell, "http://localhost:6310/cgi-bin/ipp", "--data-binary @/bin/busybox", link=through)
    digest = shell.run("sha256sum </bin/busybox").split()[0]
    expect(digest in text, f"the printer has received something else: {text}")
    shell.run(f"kill {proxy}; echo >{GADGETS}/printer/UDC")


def printer_descriptors():
    """Returns the descriptors of an interface for IPP over USB, for FunctionFS (Linux, usb/functionfs.h)."""
    body = number(1 | 2 | 4) + number(3) + number(3) + number(5)
    for size in [64, 512, 1024]:
        body += bytes([9, 4, 0, 0, 2, 7, 1, 4, 1])
        for address in [0x01, 0x82]:
            body += bytes([7, 5, address, 2, size & 255, size >> 8, 0])
            body += bytes([6, 0x30, 0, 0, 0, 0]) if size == 1024 else b""
    return number(3) + number(8 + len(body)) + body


def printer_strings():
    body = number(1) + number(1) + bytes([9, 4]) + b"Printer\0"
    return number(2) + number(8 + len(body)) + body


def number(value):
    return value.to_bytes(4, "little")


def octal(data):
    """Returns text that printf of a shell turns into bytes."""
    return "".join(f"\\{byte:03o}" for byte in data)
