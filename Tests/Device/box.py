"""Runs all checks in order: the device, the programs at the ends of its lines, and the tests of them."""
import contextlib
import os

import can
import discovery
import disturbances
import doctor
import initramfs
import login
import ports
import rfcomm
import streams
import traffic
import usb
import virtio
import vsock
from comparison import Comparison
from guest import Gateway, wait_for
from host import Proxy, ping
from machine import Machine
from report import expect

SERIAL = "BYWAY001"
# Takes 9 s at 115200 baud.
RANDOM = os.urandom(100_000)
# The port of a proxy in the device.
PORT = 8091


class Box:
    def __init__(self, byway, kernel, folder, report):
        self.byway = byway
        self.kernel = kernel
        self.folder = folder
        self.report = report
        self.parts = contextlib.ExitStack()
        self.upload = folder / "upload"
        self.upload.write_bytes(RANDOM)

    def __enter__(self):
        image = self.folder / "initramfs"
        image.write_bytes(initramfs.build(self.byway, self.kernel / "modules", RANDOM))
        self.machine = Machine(self.folder, self.kernel / "vmlinuz", image)
        self.parts.callback(self.machine.stop)
        self.report.add_log(self.machine.log_text)
        self.shell = self.machine.shell
        return self

    def __exit__(self, *_):
        self.parts.close()

    def run(self):
        check = self.report.check
        if check("the device boots", self.machine.boot) and check("byway starts there", self.starts):
            self.try_doctor()
            self.try_uart()
            self.try_login()
            self.try_adapter()
            self.try_discovery()
            self.comparison = Comparison(self.shell)
            self.comparison.make_large()
            self.try_vsock()
            self.try_virtio()
            self.try_can()
            self.try_usb()
            self.try_rfcomm()
            print(self.comparison.text(), flush=True)

    def starts(self):
        text = self.shell.run("byway help", 30)
        expect("gateway" in text, text)

    def try_doctor(self):
        check, shell, device = self.report.check, self.shell, "/dev/ttyS1"
        line, link = self.machine.terminal("uart"), f"serial:{device}?baud=115200"
        ports.make_fresh(shell, device)
        check("doctor: nobody is at the other end of a 16550", doctor.finds_silence, shell, link)
        with doctor.loop_back(line):
            check("doctor: a loop-back plug", doctor.finds, shell, link, "loop-back")
        with doctor.getty(shell, device):
            check("doctor: a login has the port", doctor.finds, shell, link, "login-here")
        check("doctor: a UART that the board lacks", doctor.finds, shell, "serial:/dev/ttyS3", "no-file")
        ports.make_fresh(shell, device)
        with discovery.printer(self.byway, line, self.folder / "doctor.log"):
            check("doctor: a sound line on a 16550", doctor.is_sound, shell, link)
            check("doctor: the port is as it was", ports.is_left_fresh, shell, device)
        check("doctor: an adapter that is not plugged in", doctor.finds, shell, ports.address(SERIAL), "no-file")
        self.machine.plug("adapter", SERIAL)
        wait_for(shell, "test -e /dev/ttyUSB0", 10)
        with discovery.printer(self.byway, self.machine.terminal("adapter"), self.folder / "doctor.log"):
            check("doctor: a sound line on an FTDI adapter", doctor.is_sound_adapter, shell, ports.address(SERIAL))
        self.machine.unplug("adapter")

    def try_uart(self):
        check, shell, device = self.report.check, self.shell, "/dev/ttyS1"
        line = self.machine.terminal("uart")
        check("16550: byway ports lists it, and no port without hardware", ports.lists_uart, shell)
        ports.make_fresh(shell, device)
        gateway = Gateway(shell, "uart", f"serial:{device}?baud=115200")
        if not check("16550: a gateway opens it", gateway.start):
            return
        self.report.add_log(gateway.text)
        check("16550: it is raw, at the address's rate",
              ports.is_set, shell, device, 115200, parenb=False, cstopb=False, crtscts=False)
        check("16550: a second gateway is refused, and told who has it", ports.is_refused, shell, device, gateway)
        link = f"serial:{line}?baud=115200"
        check("16550: byway ping gets answers", ping, self.byway, link)
        with self.proxy("uart", link) as proxy:
            self.try_traffic("16550", proxy)
            check("16550: kernel log lines on the same line damage nothing",
                  disturbances.survives_kernel_log, proxy, shell, self.folder, RANDOM)
            check("16550: the gateway stops when told, and leaves the port as it was",
                  ports.is_restored, shell, gateway, device)
            check("16550: a gateway that was stopped or killed starts again, and the proxy finds it",
                  ports.starts_again, gateway, proxy)
        # Otherwise it would read what the next checks send.
        gateway.end("KILL")

    def try_login(self):
        check, shell, device = self.report.check, self.shell, "/dev/ttyS1"
        line = self.machine.terminal("uart")
        ports.make_fresh(shell, device)
        with login.getty(shell, device):
            check("login: byway push copies a program through a getty on a 16550", login.push, self.byway, line, shell, self.folder)
            check("login: a request logs in, and the next one finds the gateway", login.requests, self.byway, line, initramfs.PAGE)
            check("login: a gateway that was killed is started again", login.starts_again, self.byway, line, shell, initramfs.PAGE)
            check("login: kernel log lines on the console do not disturb a request", login.survives_kernel_log, self.byway, line, shell,
                  initramfs.PAGE)
            check("login: a wrong password is refused, and not shown", login.refuses_password, self.byway, line, shell)
        ports.make_fresh(shell, device)

    def try_adapter(self):
        check, shell, device = self.report.check, self.shell, "/dev/ttyUSB0"
        line = self.machine.terminal("adapter")
        gateway = Gateway(shell, "adapter", f"{ports.address(SERIAL)}?baud=230400&parity=even&stopbits=2&flow=rtscts")
        if not check("FTDI: a gateway waits for its adapter", gateway.start):
            return
        self.report.add_log(gateway.text)
        self.machine.plug("adapter", SERIAL)
        check("FTDI: byway ports lists the adapter by its USB identity", ports.lists_adapter, shell, SERIAL)
        check("FTDI: it is raw, with the address's rate, parity, stop bits and flow control",
              ports.is_set, shell, device, 230400, parenb=True, parodd=False, cstopb=True, crtscts=True)
        check("FTDI: it hands up received bytes at once", ports.hands_up_at_once, shell)
        link = f"serial:{line}?baud=230400"
        with self.proxy("adapter", link) as proxy:
            self.try_traffic("FTDI", proxy)
            check("FTDI: unplugged in the middle of a download and 20 requests, all complete, none twice",
                  disturbances.survives_replug, proxy, self.machine, gateway, self.folder, RANDOM, SERIAL)
            check("FTDI: unplugged in the middle of an upload, it completes",
                  disturbances.survives_replug_of_upload, proxy, self.machine, gateway, self.upload, RANDOM, SERIAL)
            check("FTDI: unplugged while idle, the next request is answered",
                  disturbances.answers_after_idle_replug, proxy, self.machine, gateway, initramfs.PAGE, SERIAL)
        check("FTDI: the gateway stops when told, and leaves the port as it was",
              ports.is_restored, shell, gateway, "/dev/ttyUSB1")

    def try_discovery(self):
        check, line = self.report.check, self.machine.terminal("adapter")
        proxy = discovery.Discovering(self.shell)
        self.report.add_log(proxy.text)
        with discovery.printer(self.byway, line, self.folder / "printer.log"):
            if not check("USB: a proxy looks for what is plugged in", proxy.start):
                return
            check("USB: a gateway's adapter is a device, by the name and title that it says",
                  discovery.is_listed, proxy)
            check("USB: a silent adapter is one by its USB strings, and a 16550 is none",
                  discovery.lists_by_strings, proxy)
            check("USB: unplugged it is away, plugged in again it is there and answers",
                  discovery.goes_and_returns, proxy, self.machine, SERIAL)
            proxy.stop()

    def try_vsock(self):
        check, shell = self.report.check, self.shell
        gateway = Gateway(shell, "vsock", vsock.LINK)
        if not check("vsock: a gateway listens", gateway.start):
            return
        self.report.add_log(gateway.text)
        check("vsock: a page", vsock.answers, shell, initramfs.PAGE)
        with self.comparison.proxy(vsock.LINK, PORT):
            check("vsock: 10 MB each way", self.comparison.measure_port, "`vsock:`", PORT)
            self.try_streams("vsock", PORT)
        check("vsock: 10 MB each way by socat, for comparison", self.comparison.socat_vsock, PORT)
        check("vsock: a second gateway is refused", vsock.is_refused, shell)
        check("vsock: doctor finds a port without a listener, and a missing machine", vsock.finds_faults, shell)
        check("vsock: a killed gateway is noticed, and the next one answers", vsock.notices_death, shell, gateway)
        gateway.end("TERM")

    def try_virtio(self):
        check, shell = self.report.check, self.shell
        link = f"virtio:{self.folder / 'virtio'}"
        check("virtio: byway ports lists the port", virtio.is_listed, shell)
        check("virtio: doctor finds a missing port, and a host that is not connected", virtio.finds_faults, shell)
        gateway = Gateway(shell, "virtio", virtio.LINK)
        if not check("virtio: a gateway waits for the host", virtio.waits, shell, gateway):
            return
        self.report.add_log(gateway.text)
        with self.proxy("virtio", link) as proxy:
            check("virtio: a page", traffic.answers, proxy, initramfs.PAGE)
            check("virtio: a second gateway is refused", virtio.is_refused, shell, gateway)
            check("virtio: 20 requests at once, none twice", traffic.answers_many, proxy, shell, "virtio")
            check("virtio: 10 MB each way, and pages in a row", self.comparison.measure_proxy, "`virtio:`", proxy, self.folder)
            check(f"virtio: {streams.AT_ONCE} requests at once", streams.host_crowd, proxy, initramfs.PAGE)
            check("virtio: a WebSocket", streams.host_web_socket, proxy)
            check("virtio: a server-sent event", streams.host_events, proxy)
            check("virtio: a killed gateway starts again, and the proxy finds it",
                  virtio.outlives_restart, proxy, gateway, initramfs.PAGE)
        check("virtio: the gateway serves the next program of the host",
              virtio.outlives_host, lambda: self.proxy("virtio-next", link), shell, gateway, initramfs.PAGE)
        gateway.end("TERM")
        check("virtio: 10 MB each way without a link, for comparison",
              self.comparison.virtio_port, virtio.device(shell), self.folder / "virtio")

    def try_can(self):
        check, shell = self.report.check, self.shell
        gateway = Gateway(shell, "can", can.link(can.ECU, can.TESTER, rate=can.RATE))
        if not check("CAN: a gateway waits for its interface", can.waits, shell, gateway):
            return
        self.report.add_log(gateway.text)
        check("CAN: doctor finds a missing interface, and one that is down", can.finds_faults, shell)
        check("CAN: a page, over an interface that came later", can.answers, shell, initramfs.PAGE)
        check("CAN: 100 KB down, no faster than its share of the bus", can.is_limited, shell, RANDOM)
        check("CAN: 100 KB down, while the interface goes down for a second", can.survives_outage, shell, RANDOM)
        gateway.end("TERM")
        fast = Gateway(shell, "can-fd", can.link(*can.LONG, fd="yes", rate=can.FASTEST))
        if check("CAN FD: a gateway opens identifiers of 29 bits", fast.start):
            self.report.add_log(fast.text)
            with self.comparison.proxy(can.link(*reversed(can.LONG), fd="yes", rate=can.FASTEST), PORT):
                check("CAN FD: 100 KB each way, as fast as the emulated bus", self.comparison.measure_port,
                      "`can:` with CAN FD, no limit of the bus", PORT, "random", RANDOM)
                self.try_streams("CAN FD", PORT)
            check("CAN FD: a killed gateway is replaced", can.outlives_gateway, shell, fast, initramfs.PAGE)
            check("CAN FD: an interface without it is refused", can.refuses_classic, shell)
            fast.end("TERM")

    def try_rfcomm(self):
        check, shell = self.report.check, self.shell
        gateway = Gateway(shell, "rfcomm", rfcomm.GATEWAY)
        self.report.add_log(gateway.text)
        if not check("Bluetooth: a gateway waits for its controller", rfcomm.waits, shell, gateway):
            return
        check("Bluetooth: doctor and byway ports find a controller that is off", rfcomm.finds_off, shell)
        check("Bluetooth: a page, encrypted", rfcomm.answers, shell, initramfs.PAGE)
        check("Bluetooth: a second gateway on the channel, and a channel without one", rfcomm.finds_faults, shell)
        check("Bluetooth: 1 MB of bytes alone, for comparison", rfcomm.compares, shell)
        digest = rfcomm.make_megabyte(shell)
        with rfcomm.proxy(shell) as proxy:
            check("Bluetooth: 100 KB each way", self.comparison.measure_port, "`rfcomm:`", rfcomm.PORT, "random", RANDOM)
            self.try_streams("Bluetooth", rfcomm.PORT)
            check("Bluetooth: a second user of the channel is refused", rfcomm.refuses_second, shell)
            check("Bluetooth: a killed gateway starts again, and the proxy finds it",
                  rfcomm.outlives_gateway, shell, gateway, proxy, initramfs.PAGE)
        check("Bluetooth: 1 MB up", rfcomm.uploads, shell, digest)
        check("Bluetooth: a killed client leaves the link to the next one", rfcomm.outlives_client, shell, initramfs.PAGE)
        check("Bluetooth: the radio is silent in a download of 1 MB, which continues", rfcomm.survives_silence, shell, digest)
        gateway.end("TERM")

    def try_usb(self):
        check, shell = self.report.check, self.shell
        gateway = Gateway(shell, "usb", usb.GADGET)
        if not check("USB link: a gateway waits for a controller, and byway ports lists its gadget", usb.waits, shell, gateway):
            return
        self.report.add_log(gateway.text)
        check("USB link: a page", usb.answers, shell, initramfs.PAGE)
        check("USB link: a second gadget on the controller is refused", usb.is_refused, shell)
        with self.comparison.proxy(usb.LINK, PORT):
            check("USB link: 10 MB each way", self.comparison.measure_port, "`usb:` and `usb-gadget:`", PORT)
            self.try_streams("USB link", PORT)
        digest = self.comparison.digest
        check("USB link: unplugged in a download, which continues", usb.survives_replug, shell, gateway, digest)
        check("USB link: a killed gateway leaves a gadget that the next one replaces",
              usb.outlives_gateway, shell, gateway, initramfs.PAGE)
        check("USB link: a second user is refused, until the first one is killed", usb.outlives_proxy, shell, initramfs.PAGE)
        check("USB link: the gateway removes its gadget", usb.is_removed, shell, gateway)
        check("USB link: two functions of a gadget are two links", usb.has_several_links, shell, initramfs.PAGE)
        check("USB printer: a page, two at once and a document, over IPP over USB", usb.has_printer, shell, initramfs.PAGE)
        if check("USB link: a serial gadget", usb.add_serial, shell):
            check("USB link: 10 MB each way over it, for comparison", self.comparison.serial_gadget)

    def try_traffic(self, name, proxy):
        check = self.report.check
        check(f"{name}: a page", traffic.answers, proxy, initramfs.PAGE)
        check(f"{name}: {traffic.AT_ONCE} requests at once, none twice", traffic.answers_many, proxy, self.shell, name)
        check(f"{name}: 100 KB down", traffic.downloads, proxy, RANDOM)
        check(f"{name}: 100 KB up", traffic.uploads, proxy, self.upload, RANDOM)

    def try_streams(self, name, port):
        check, shell = self.report.check, self.shell
        check(f"{name}: {streams.AT_ONCE} requests at once", streams.crowd, shell, port, initramfs.PAGE)
        check(f"{name}: a WebSocket", streams.web_socket, shell, port)
        check(f"{name}: a server-sent event", streams.events, shell, port)

    @contextlib.contextmanager
    def proxy(self, name, link):
        proxy = Proxy(self.byway, link, self.folder / f"{name}-proxy.log")
        self.report.add_log(proxy.text)
        try:
            yield proxy
        finally:
            proxy.stop()
