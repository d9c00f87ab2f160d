"""Links over Bluetooth between two emulated controllers of the device, which reach each other."""
import contextlib
import re

from doctor import finds
from guest import wait_for
from report import expect

CHANNEL = 3
# btvirt numbers its controllers, and has these addresses for them.
NEAR, FAR = "00:AA:01:00:00:00", "00:AA:01:01:00:01"
GATEWAY = f"rfcomm:any:{CHANNEL}?controller=hci1"
LINK = f"rfcomm:{FAR}:{CHANNEL}"
LARGE = 1 << 20
PORT = 8088
PROXY = f"http://127.0.0.1:{PORT}"
SECONDS = 60
# Pairing without questions, encryption, and page scan: what bluetoothd does on other systems.
SETTINGS = ["io-cap 3", "ssp on", "bondable on", "connectable on"]


def waits(shell, gateway):
    """Checks that a gateway waits for the controller of its address."""
    shell.run("for module in rfcomm hci_vhci; do insmod /modules/$module; done")
    gateway.start()
    wait_for(shell, f"grep 'There is no Bluetooth controller hci1' {gateway.log}", 20)
    finds(shell, LINK, "no-file")


def finds_off(shell):
    # Without Low Energy, for which this kernel wants more modules.
    shell.run("btvirt -B -l2 >/tmp/btvirt.log 2>&1 & echo $! >/tmp/btvirt.pid")
    wait_for(shell, "byway ports | grep hci1", 20)
    listed = shell.run("byway ports")
    expect(f"Bluetooth {FAR}" in listed and listed.count("is off") == 2, f"it lists {listed}")
    finds(shell, LINK, "no-route")
    for number in [0, 1]:
        for setting in SETTINGS:
            manage(shell, number, setting)
        switch(shell, number, "on")


def manage(shell, number, setting):
    # Real time: it ends with its input, and then says nothing more.
    text = shell.run(f"sleep 0.2 | btmgmt --index {number} {setting}", 20)
    expect("failed" not in text, f"{setting}: {text}")


def switch(shell, number, state):
    manage(shell, number, f"power {state}")


def request(shell, url, options="", check=True):
    return shell.run(f"byway request --link '{LINK}' {options} {url}", SECONDS, check)


def answers(shell, page):
    text = request(shell, "http://localhost/")
    expect(page.decode().strip() in text, f"no page, but {text}")


def finds_faults(shell):
    text = shell.run(f"byway gateway --link '{GATEWAY}' --origin http://127.0.0.1:80", 20, check=False)
    expect(f"Channel {CHANNEL} is already in use" in text, f"a second gateway says: {text}")
    finds(shell, f"rfcomm:{FAR}:9", "nobody-listens")


def make_megabyte(shell):
    """Returns the digest of a file that the gateway serves."""
    text = shell.run(f"dd if=/dev/urandom of=/www/megabyte bs={LARGE} count=1 2>/dev/null; sha256sum </www/megabyte", SECONDS)
    return text.split()[0]


def uploads(shell, digest):
    text = timed(shell, f"byway request --link {LINK} --data-binary @/www/megabyte http://localhost/cgi-bin/sha256")
    expect(digest in text, f"the gateway has received something else: {text}")


def compares(shell):
    """Sends the bytes alone over a connection, without a link."""
    receiver = shell.run("rctest -r -P 12 -b 1000 >/tmp/rctest.log 2>&1 & echo $!").strip()
    wait_for(shell, "grep -i waiting /tmp/rctest.log", 10)
    timed(shell, f"rctest -s -P 12 -b 1000 -N {LARGE // 1000} {FAR}")
    shell.run(f"kill {receiver}", check=False)


def timed(shell, command):
    text = shell.run(f"time -p {command}", SECONDS)
    seconds = float(re.search(r"real ([\d.]+)", text)[1])
    print(f"     {LARGE / seconds / 1000:.0f} KB/s, with the start of the program", flush=True)
    return text


def expect_digest(shell, digest, text=""):
    found = shell.run("sha256sum </tmp/rfcomm")
    expect(digest in found, f"the file has another digest: {found} {text}")


@contextlib.contextmanager
def proxy(shell):
    """A proxy in the device, which has the link for several programs."""
    address = PROXY.removeprefix("http://")
    process = shell.run(f"byway proxy --link '{LINK}' --listen {address} >/tmp/rfcomm-proxy.log 2>&1 & echo $!").strip()
    try:
        wait_for(shell, "grep 'proxy ready' /tmp/rfcomm-proxy.log", 20)
        yield process
    finally:
        shell.run(f"kill {process}; wait {process}", 20, check=False)


def refuses_second(shell):
    text = shell.run(f"byway ping --link '{LINK}' -c 1", 20, check=False)
    expect("a channel has one connection" in text, f"a second user is told: {text}")


def outlives_gateway(shell, gateway, proxy, page):
    gateway.end("KILL")
    gateway.start()
    text = wait_for(shell, f"wget -q -O - {PROXY}/", 30)
    expect(page.decode().strip() in text, f"no page, but {text}")


def outlives_client(shell, page):
    command = f"byway request --link {LINK} -o /tmp/rfcomm http://localhost/cgi-bin/endless"
    process = shell.run(f"rm -f /tmp/rfcomm*.part; {command} >/tmp/killed.log 2>&1 & echo $!").strip()
    wait_for(shell, "[ $(wc -c </tmp/rfcomm.part) -gt 10000 ]", 20)
    shell.run(f"kill -KILL {process}")
    answers(shell, page)


def survives_silence(shell, digest):
    """Stops the emulation of both radios for a moment."""
    # Real time: the length of the silence.
    interrupted(shell, "kill -STOP $(cat /tmp/btvirt.pid); sleep 1; kill -CONT $(cat /tmp/btvirt.pid)")
    expect_digest(shell, digest)


def interrupted(shell, commands):
    """Runs commands during a download, as soon as a part of it has arrived."""
    wait = "until [ $(wc -c </tmp/rfcomm.part) -gt 100000 ]; do sleep 0.02; done"
    shell.run(f"rm -f /tmp/rfcomm; >/tmp/rfcomm.part; ({wait}; {commands}) >/tmp/interrupted.log 2>&1 &")
    request(shell, "http://localhost/megabyte", "-o /tmp/rfcomm")
