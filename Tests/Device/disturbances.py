"""Disturbances of lines during transfers."""
import contextlib
import time

import ports
import traffic
from guest import wait_for
from report import expect

WAITING = "Waiting for USB adapter"


def survives_kernel_log(proxy, shell, folder, random):
    """The kernel console shares the link's line, so its output appears between or within frames."""
    expect("ttyS1" in shell.run("cat /sys/class/tty/console/active"), "the console is another line")
    with started_download(proxy, folder) as (transfer, file):
        for number in range(1, 6):
            shell.run(f"echo '<0>line {number} of the kernel log' >/dev/kmsg")
            time.sleep(0.5)
        expect(transfer.process.poll() is None, "the download was over before the log was written")
        transfer.finish(traffic.SECONDS)
    traffic.expect_same(file.read_bytes(), random)


def survives_replug(proxy, machine, gateway, folder, random, serial):
    """Unplugs the adapter during a download and non-repeatable requests. It returns under another name."""
    with contextlib.ExitStack() as running:
        transfer, file = running.enter_context(started_download(proxy, folder))
        counted = traffic.start_counted(proxy, running, "replugged")
        waits = gateway.text().count(WAITING)
        machine.unplug("adapter")
        # The name is free once the gateway has closed the device.
        wait_for(machine.shell, f"test $(grep -c '{WAITING}' {gateway.log}) -gt {waits}", 10)
        machine.plug("other", "OTHER")
        wait_for(machine.shell, "test -e /dev/ttyUSB0", 10)
        time.sleep(2)
        expect(transfer.process.poll() is None, "the download was over before the adapter was unplugged")
        machine.plug("adapter", serial)
        transfer.finish(traffic.SECONDS)
        traffic.finish_counted(machine.shell, counted)
    traffic.expect_same(file.read_bytes(), random)
    expect(ports.device(machine.shell, serial) == "/dev/ttyUSB1", "the adapter has not changed its name")


def survives_replug_of_upload(proxy, machine, file, random, serial):
    with traffic.upload(proxy, file) as transfer:
        time.sleep(1)
        machine.unplug("adapter")
        time.sleep(1)
        expect(transfer.process.poll() is None, "the upload was over before the adapter was unplugged")
        machine.plug("adapter", serial)
        traffic.expect_digest(transfer.finish(traffic.SECONDS), random)


def answers_after_idle_replug(proxy, machine, page, serial):
    machine.unplug("adapter")
    time.sleep(1)
    machine.plug("adapter", serial)
    traffic.answers(proxy, page)


@contextlib.contextmanager
def started_download(proxy, folder):
    """Returns a transfer in progress, and the file it writes."""
    file = folder / "download"
    file.unlink(missing_ok=True)
    with proxy.start("/random", "--no-buffer", output=file) as transfer:
        deadline = time.monotonic() + 15
        while not file.exists() or file.stat().st_size == 0:
            expect(time.monotonic() < deadline, "no byte arrives")
            time.sleep(0.02)
        yield transfer, file
