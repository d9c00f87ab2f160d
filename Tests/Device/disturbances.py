"""Disturbances of lines during transfers."""
import contextlib
import time

import ports
import traffic
from guest import wait_for
from report import expect
from waiting import until

WAITING = "Waiting for USB adapter"
# Bytes of a transfer of 100 KB that show that it goes on.
PIECE = 4000


def survives_kernel_log(proxy, shell, folder, random):
    """The kernel console shares the link's line, so its output appears between or within frames."""
    expect("ttyS1" in shell.run("cat /sys/class/tty/console/active"), "the console is another line")
    with started_download(proxy, folder) as (transfer, file):
        for number in range(1, 6):
            shell.run(f"echo '<0>line {number} of the kernel log' >/dev/kmsg")
            size = file.stat().st_size
            until(lambda: file.stat().st_size > size + PIECE, traffic.SECONDS, "the download does not continue")
        expect(transfer.process.poll() is None, "the download was over before the log was written")
        transfer.finish(traffic.SECONDS)
    traffic.expect_same(file.read_bytes(), random)


def survives_replug(proxy, machine, gateway, folder, random, serial):
    """Unplugs the adapter during a download and non-repeatable requests. It returns under another name."""
    with contextlib.ExitStack() as running:
        transfer, file = running.enter_context(started_download(proxy, folder))
        counted = traffic.start_counted(proxy, running, "replugged")
        unplug(machine, gateway)
        machine.plug("other", "OTHER")
        wait_for(machine.shell, "test -e /dev/ttyUSB0", 10)
        # Real time: a gateway that took the wrong adapter would do so now.
        time.sleep(2)
        expect(transfer.process.poll() is None, "the download was over before the adapter was unplugged")
        machine.plug("adapter", serial)
        transfer.finish(traffic.SECONDS)
        traffic.finish_counted(machine.shell, counted)
    traffic.expect_same(file.read_bytes(), random)
    expect(ports.device(machine.shell, serial) == "/dev/ttyUSB1", "the adapter has not changed its name")


def survives_replug_of_upload(proxy, machine, gateway, file, random, serial):
    with traffic.upload(proxy, file) as transfer:
        # The bytes that the receiver of the upload has read.
        wait_for(machine.shell, f"test $(awk '/rchar/ {{ print $2 }}' /proc/$(pidof sha256sum)/io) -gt {PIECE}", traffic.SECONDS)
        unplug(machine, gateway)
        expect(transfer.process.poll() is None, "the upload was over before the adapter was unplugged")
        machine.plug("adapter", serial)
        traffic.expect_digest(transfer.finish(traffic.SECONDS), random)


def answers_after_idle_replug(proxy, machine, gateway, page, serial):
    unplug(machine, gateway)
    machine.plug("adapter", serial)
    traffic.answers(proxy, page)


def unplug(machine, gateway):
    """Unplugs the adapter, and waits until the gateway has closed it. Then its name is free."""
    waits = gateway.text().count(WAITING)
    machine.unplug("adapter")
    wait_for(machine.shell, f"test $(grep -c '{WAITING}' {gateway.log}) -gt {waits}", 20)


@contextlib.contextmanager
def started_download(proxy, folder):
    """Returns a transfer in progress, and the file it writes."""
    file = folder / "download"
    file.unlink(missing_ok=True)
    with proxy.start("/random", "--no-buffer", output=file) as transfer:
        until(lambda: file.exists() and file.stat().st_size > 0, 15, "no byte arrives")
        yield transfer, file
