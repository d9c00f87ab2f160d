"""Debian with the installed package: the documented behavior of its services."""
import contextlib
import functools
import http.server
import subprocess
import threading
import time

import debian
import local
from guest import wait_for
from machine import Machine
from report import expect

SERIAL = "BYWAY001"
PAGE = b"<!doctype html><title>A printer</title>\n"
URL = "http://127.0.0.1:8080/"
PROXY = f"byway-proxy@{SERIAL}.service"
# An emulated processor is slow.
SECONDS = 60

# The configuration, written before the adapter is plugged in.
ADAPTER = f"""link = serial:usb:0403:6001:{SERIAL}?baud=230400
listen = 127.0.0.1:8080
"""
# A gateway and a proxy on one machine, on sockets held by systemd.
HALL_GATEWAY = "link = fd:link\norigin = http://127.0.0.1:80\n"
HALL_PROXY = "link = unix:/run/byway-hallway.sock\nlisten = fd:http\nlink-timeout = 30\n"


class Installed:
    """The emulated machine, and a gateway in front of a page at this machine's end of its adapter's line."""

    def __init__(self, byway, kernel, packages, cache, folder, report):
        self.byway = byway
        self.kernel = kernel
        self.packages = packages
        self.cache = cache
        self.folder = folder
        self.report = report
        self.parts = contextlib.ExitStack()

    def __enter__(self):
        payload = {"first.deb": self.packages[0], "second.deb": self.packages[1]}
        for name, text in [("adapter.conf", ADAPTER), ("gateway.conf", HALL_GATEWAY), ("proxy.conf", HALL_PROXY)]:
            payload[name] = self.folder / name
            payload[name].write_text(text)
        payload["page"] = self.folder / "page"
        payload["page"].write_bytes(PAGE)
        archive = self.folder / "start"
        archive.write_bytes(debian.start_files(self.kernel / "modules", payload))
        self.machine = Machine(self.folder, self.kernel / "vmlinuz", archive, debian.disk(self.cache))
        self.parts.callback(self.machine.stop)
        self.report.add_log(self.machine.log_text)
        self.shell = self.machine.shell
        self.report.add_log(self.journal)
        return self

    def __exit__(self, *_):
        self.parts.close()

    def journal(self):
        return self.shell.run("journalctl --no-pager -q -o cat -u 'byway-*' | tail -n 40", SECONDS, check=False)

    def run(self):
        check = self.report.check
        if not check("Debian boots", self.machine.boot) or not check("the package is installed", self.install):
            return
        self.run_local()
        check("an adapter is plugged in, and its page is there without a command", self.plugs_in)
        check("systemd-analyze security: at most 1.5 for either daemon", self.is_confined)
        check("systemctl reload: the new rules count, and a page that is on its way arrives", self.reloads)
        check("kill -9: it is started again", self.survives_kill)
        check("stuck: the watchdog starts it again", self.survives_standstill)
        check("a wrong configuration is refused by systemctl reload, and changes nothing", self.refuses_mistake)
        check("the disk is full: requests are answered, and the access log goes on when there is room", self.survives_full_disk)
        check("unplugged: the proxy stops; plugged in again: the page is there", self.is_unplugged)
        check("an upgrade under load: no request fails", self.upgrades)
        check("what an administrator has written survives a removal, nothing of the package does", self.is_removed)

    def run_local(self):
        """Checks the proxy that serves every adapter under its name."""
        check, machine = self.report.check, self.machine
        if not check("byway-proxy@local runs as installed, and lists no device", local.starts, self.shell):
            return
        check("local: an adapter without a gateway is listed by its own name within 3 s, and is away when unplugged",
              local.appears, self.shell, machine, SERIAL, "qemu-usb-serial")
        with self.gateway("local", "--name", "printer"):
            check("local: an adapter's gateway has its page at http://printer.localhost:8080/ within 3 s, and is away when unplugged",
                  local.appears, self.shell, machine, SERIAL, "printer", PAGE.decode())
            check("local: two lines of its configuration give the adapter another name", local.is_named,
                  self.shell, machine, SERIAL, PAGE.decode())
        machine.unplug("adapter")
        check("systemd-analyze security: at most 1.5 for byway-proxy@local", self.is_confined, [local.UNIT])
        check("local: it stops", local.stops, self.shell)

    # MARK: Checks

    def install(self):
        self.shell.run("dpkg -i /run/box/first.deb", SECONDS)
        for name in ["gateway", "proxy"]:
            text = self.shell.run(f"cat /etc/byway/{name}.conf")
            expect(all(line.startswith("#") for line in text.splitlines() if line), f"{name}.conf sets something")
        for unit in [PROXY, local.UNIT]:
            expect(self.state(unit) == "inactive", f"{unit} runs")

    def plugs_in(self):
        self.shell.run(f"cp /run/box/adapter.conf /etc/byway/{SERIAL}.conf")
        expect(self.state(PROXY) == "inactive", "it runs before there is an adapter")
        self.parts.enter_context(self.gateway("gateway"))
        self.machine.plug("adapter", SERIAL)
        self.wait_for_page()
        expect(self.state(PROXY) == "active", "somebody else serves the page")
        user = self.shell.run(f"stat -c %U /proc/{self.process()}").strip()
        expect(user != "root", "it runs as root")

    def is_confined(self, units=(PROXY, "byway-gateway@any.service")):
        for unit in units:
            self.shell.run(f"systemd-analyze security --no-pager --threshold=15 {unit}", SECONDS)

    def reloads(self):
        expect(self.status("--header 'Host: hall.example'") == "421", "another name is answered for before the reload")
        before = self.process()
        self.shell.run(f"rm -f /tmp/large; curl -sS --no-buffer -o /tmp/large {URL}large >/tmp/curl 2>&1 & echo $! >/tmp/transfer")
        wait_for(self.shell, "test -s /tmp/large", SECONDS)
        self.shell.run(f"kill -0 $(cat /tmp/transfer) && echo 'name = hall.example' >>/etc/byway/{SERIAL}.conf && systemctl reload {PROXY}", SECONDS)
        wait_for(self.shell, f"journalctl -q -u {PROXY} | grep Reloaded", SECONDS)
        expect(self.status("--header 'Host: hall.example'") == "200", "the new name is not answered for")
        wait_for(self.shell, "! kill -0 $(cat /tmp/transfer) 2>/dev/null", SECONDS)
        expect(self.shell.run("stat -c %s /tmp/large").strip() == str(LARGE), self.shell.run("cat /tmp/curl"))
        expect(self.process() == before, "it was started again")

    def refuses_mistake(self):
        conf = f"/etc/byway/{SERIAL}.conf"
        self.shell.run(f"cp {conf} /tmp/right && echo 'nmae = x' >>{conf}")
        text = self.shell.run(f"systemctl reload {PROXY} && echo reloaded; cp /tmp/right {conf}", SECONDS)
        expect("reloaded" not in text, "it does not fail")
        expect("nmae" in self.shell.run(f"journalctl -q -u {PROXY}"), "the journal does not say why")
        self.wait_for_page()

    def survives_full_disk(self):
        folder = f"/var/log/private/byway/{SERIAL}"
        self.shell.run(
            f"echo 'access-log = /var/log/byway/{SERIAL}/access.log' >>/etc/byway/{SERIAL}.conf && mkdir -p {folder} && "
            f"mount -t tmpfs -o size=64k tmpfs {folder} && systemctl restart {PROXY} && "
            f"(dd if=/dev/zero of={folder}/filler bs=1k 2>/dev/null || true)", SECONDS)
        for _ in range(3):
            self.wait_for_page()
        expect("GET /" not in self.shell.run(f"cat {folder}/access.log"), "the disk is not full")
        self.shell.run(f"rm {folder}/filler")
        self.wait_for_page()
        wait_for(self.shell, f"grep 'GET /' {folder}/access.log", SECONDS)

    def survives_kill(self):
        before = self.process()
        self.shell.run(f"kill -9 {before}")
        wait_for(self.shell, f"test $(systemctl show -P MainPID {PROXY}) -gt {before}", SECONDS)
        self.wait_for_page()

    def survives_standstill(self):
        self.shell.run(
            f"mkdir -p /etc/systemd/system/{PROXY}.d && printf '[Service]\\nWatchdogSec=4\\n' "
            f">/etc/systemd/system/{PROXY}.d/soon.conf && systemctl daemon-reload && systemctl restart {PROXY}", SECONDS)
        self.wait_for_page()
        before = self.process()
        # Real time: longer than the watchdog's timeout. The daemon survives because it sends notifications.
        time.sleep(8)
        expect(self.process() == before, "the watchdog has ended one that lives")
        self.shell.run(f"kill -STOP {before}")
        wait_for(self.shell, f"journalctl -q -u {PROXY} | grep -i 'watchdog timeout'", SECONDS)
        self.wait_for_page()

    def is_unplugged(self):
        self.machine.unplug("adapter")
        wait_for(self.shell, f"test $(systemctl is-active {PROXY}) = inactive", SECONDS)
        self.machine.plug("adapter", SERIAL)
        self.wait_for_page()

    def upgrades(self):
        units = "/etc/systemd/system"
        examples = "/usr/share/doc/byway/examples"
        self.shell.run(
            "mkdir -p /tmp/www && cp /run/box/page /tmp/www/index.html && /run/box/busybox httpd -p 127.0.0.1:80 -h /tmp/www")
        self.shell.run(
            "cp /run/box/gateway.conf /etc/byway/hallway.conf && cp /run/box/proxy.conf /etc/byway/hall.conf && "
            f"cp {examples}/byway-gateway@.socket {units}/byway-gateway@hallway.socket && "
            f"sed s/8080/8081/ {examples}/byway-proxy@.socket >{units}/byway-proxy@hall.socket && "
            "systemctl daemon-reload && systemctl enable --now byway-gateway@hallway.socket byway-proxy@hall.socket", SECONDS)
        wait_for(self.shell, "curl -sS --fail -m 30 http://127.0.0.1:8081/", SECONDS)
        before = self.process("byway-proxy@hall.service"), self.process("byway-gateway@hallway.service")
        self.shell.run(
            "rm -f /tmp/over /tmp/failed /tmp/done; (while [ ! -e /tmp/over ]; do curl -sS --fail -m 60 -o /dev/null "
            "http://127.0.0.1:8081/ 2>>/tmp/failed && echo >>/tmp/done; done; touch /tmp/ended) &")
        self.shell.run("dpkg -i /run/box/second.deb", 2 * SECONDS)
        wait_for(self.shell, "curl -sS --fail -m 30 http://127.0.0.1:8081/", SECONDS)
        self.shell.run("touch /tmp/over")
        wait_for(self.shell, "test -e /tmp/ended", SECONDS)
        after = self.process("byway-proxy@hall.service"), self.process("byway-gateway@hallway.service")
        expect(all(old != new for old, new in zip(before, after)), "the first version still runs")
        expect(self.shell.run("cat /tmp/failed") == "", self.shell.run("cat /tmp/failed"))
        expect(int(self.shell.run("wc -l </tmp/done")) > 2, "there was no load")

    def is_removed(self):
        self.shell.run("dpkg -r byway", SECONDS)
        expect(self.state(PROXY) == "inactive", "it still runs")
        self.shell.run(f"test -e /etc/byway/proxy.conf -a -e /etc/byway/{SERIAL}.conf -a ! -e /usr/bin/byway")
        self.shell.run(f"umount /var/log/private/byway/{SERIAL}; dpkg -P byway", SECONDS)
        left = self.shell.run(
            "find / -xdev \\( -path /proc -o -path /sys -o -path /tmp -o -path /root \\) -prune -o -name '*byway*' -print")
        mine = ["/etc/byway", "/etc/systemd"]
        others = [path for path in left.split() if not path.startswith((*mine, "/var/log/journal", "/run"))]
        expect(others == [], f"left behind: {others}")
        expect(self.shell.run("ls /etc/byway").split() == sorted([f"{SERIAL}.conf", "hall.conf", "hallway.conf"]),
               self.shell.run("ls /etc/byway"))

    @contextlib.contextmanager
    def gateway(self, name, *options):
        """A gateway on this machine, at the other end of the adapter's line, in front of a page."""
        with page_server(self.folder / f"{name}-origin") as origin:
            gateway = Gateway(self.byway, self.machine.terminal("adapter"), origin, self.folder / f"{name}.log", *options)
            self.report.add_log(gateway.text)
            try:
                yield
            finally:
                gateway.stop()

    # MARK: Queries

    def wait_for_page(self):
        page = wait_for(self.shell, f"curl -sS --fail -m 20 {URL}", SECONDS)
        expect(page.encode() == PAGE, f"another page: {page}")

    def status(self, options):
        return self.shell.run(f"curl -sS -m 20 -o /dev/null -w '%{{http_code}}' {options} {URL}", SECONDS).strip()

    def state(self, unit):
        return self.shell.run(f"systemctl is-active {unit}", check=False).strip()

    def process(self, unit=PROXY):
        return int(self.shell.run(f"systemctl show -P MainPID {unit}"))


LARGE = 60_000


@contextlib.contextmanager
def page_server(folder):
    """Runs a web server on this machine, and yields its address."""
    folder.mkdir()
    (folder / "index.html").write_bytes(PAGE)
    (folder / "large").write_bytes(bytes(LARGE))
    handler = functools.partial(QuietHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


class Gateway:
    """A gateway at this machine's end of the adapter's line."""

    def __init__(self, byway, terminal, origin, log, *options):
        self.path = log
        with open(log, "w") as file:
            self.process = subprocess.Popen(
                [byway, "gateway", "--link", f"serial:{terminal}?baud=230400", "--origin", origin, *options],
                stdin=subprocess.DEVNULL, stdout=file, stderr=file)

    def text(self):
        return self.path.read_text(errors="replace")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
