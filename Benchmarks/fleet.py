#!/usr/bin/env python3
"""A fleet: three hubs behind two HAProxies, devices that dial through them, users that send requests through them, and a killed hub.

    apt install haproxy openssl mosquitto
    python3 -B Benchmarks/fleet.py --byway .build/release/byway

Prints the cost of an idle device in memory, processor time and bytes on the wire, compared with a client of mosquitto. Then it prints the effect
of kill -9 of a hub on users and devices: requests by outcome, the time until recovery, and connections to HAProxy in each tenth of a second.
HAProxy is configured by examples/fleet/haproxy.cfg. Everything is on 127.0.0.1. Three processes run all gateways, each in a section with its own
certificate.
"""
import argparse
import asyncio
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import socket
import ssl
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CONFIGURATION = HERE.parent / "examples/fleet/haproxy.cfg"
SUFFIX = "devices.example"
# An IPv4 header without options, and TCP's with timestamps (RFC 7323).
HEADERS = 20 + 32


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument("--devices", type=int, default=300)
    parser.add_argument("--users", type=int, default=60, help="each asks for a device of its own twice a second")
    parser.add_argument("--idle", type=int, default=240, metavar="SECONDS", help="how long nothing happens; 0: do not measure that")
    parser.add_argument("--kills", type=int, default=3, help="how many times a hub is killed")
    parser.add_argument("--no-mqtt", action="store_true")
    parser.add_argument("--handshakes", type=int, default=3000, help="to measure the rate of a hub by; 0: do not measure that")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bw-", dir="/tmp") as name:
        asyncio.run(measure(options, pathlib.Path(name)))


async def measure(options, folder):
    Certificates.make(folder, [f"d{number}" for number in range(options.devices)])
    fleet = Fleet(options, folder)
    try:
        fleet.start()
        await fleet.await_hubs()
        if options.idle:
            await memory(fleet)
        before = [anonymous(balancer) for balancer in fleet.balancers]
        for share in range(3):
            fleet.dial(share)
        await fleet.await_devices()
        if options.idle:
            await idle(fleet, before)
        if options.handshakes:
            await handshake_rate(fleet, options.handshakes)
        for _ in range(options.kills):
            await kill(fleet)
        if options.idle and not options.no_mqtt:
            await mosquitto(fleet)
    finally:
        fleet.stop()


def say(line):
    print(line, flush=True)


# MARK: Measurements


async def memory(fleet):
    """Measures the memory of a hub with all devices, which dial it without HAProxy."""
    hub, count = fleet.hubs[0], fleet.options.devices
    before = anonymous(hub)
    gateways = [fleet.dial(share, to=["HUB1_DEVICES"]) for share in range(3)]
    await fleet.await_devices()
    await asyncio.sleep(5)
    say(f"memory of a hub for each of {count} idle devices: {(anonymous(hub) - before) / count / 1024:.1f} KiB")
    for gateway in gateways:
        gateway.terminate()
    for gateway in gateways:
        gateway.wait()
    # Afterwards, a new hub replaces this one.
    hub.terminate()
    hub.wait()
    fleet.start_hub(0)
    await fleet.await_hubs(after=2)


async def idle(fleet, before):
    """Measures the processor time and bytes of devices without requests."""
    count = fleet.options.devices
    await asyncio.sleep(5)
    grown = sum(anonymous(balancer) - was for balancer, was in zip(fleet.balancers, before))
    say(f"memory of HAProxy for each of {count} idle devices: {grown / count / 1024:.1f} KiB")
    bytes_before, time_before = fleet.bytes(), [processor(hub) for hub in fleet.hubs]
    begin = time.monotonic()
    await asyncio.sleep(fleet.options.idle)
    took = time.monotonic() - begin
    taken, given = (after - was for after, was in zip(fleet.bytes(), bytes_before))
    hour = 3600 / took / count
    say(f"bytes of TLS for each idle device in an hour: {taken * hour:,.0f} to the hub, {given * hour:,.0f} from it")
    # A PING of 17 bytes in its own record (RFC 8446 §5.2), its answer, and the TCP acknowledgement of the answer.
    rounds = taken / 39
    wire = taken + given + 3 * rounds * HEADERS
    say(f"  on the wire, with headers of TCP and IPv4: {wire * hour:,.0f}; {rounds * hour:.1f} PINGs")
    used = sum(processor(hub) - was for hub, was in zip(fleet.hubs, time_before))
    say(f"processor time of the hubs for {count} idle devices in an hour: {used * 3600 / took:.1f} s")


async def handshake_rate(fleet, count):
    """Measures the handshakes of one hub with devices that dial, are accepted by certificate, and disconnect."""
    hub = fleet.hubs[0]
    context = fleet.device_context("d0")
    port = fleet.ports["HUB1_DEVICES"]
    before, begin = processor(hub), time.monotonic()

    def shake(share):
        for _ in range(share):
            with socket.create_connection(("127.0.0.1", port)) as plain:
                with context.wrap_socket(plain, server_hostname=f"d0.{SUFFIX}") as secured:
                    # The hub sends its first bytes after it has verified the client's certificate.
                    secured.recv(1)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        await asyncio.gather(*[asyncio.get_running_loop().run_in_executor(pool, shake, count // 8) for _ in range(8)])
    took, used = time.monotonic() - begin, processor(hub) - before
    done = count // 8 * 8
    say(f"handshakes with client certificates: {done / took:,.0f} a second, {used / done * 1000:.2f} ms of a hub's processor each")


async def kill(fleet):
    """Kills the hub with the most devices during requests of users."""
    users = Users(fleet)
    users.start()
    # A link that exists for more than ten seconds counts as good.
    await asyncio.sleep(12)
    counts = fleet.count_devices()
    victim = max(range(3), key=lambda number: counts[number])
    say(f"devices at the hubs: {counts}; hub{victim + 1} is killed")
    arrivals = Arrivals(fleet)
    await asyncio.sleep(0.3)
    killed = time.monotonic()
    fleet.hubs[victim].kill()
    fleet.hubs[victim].wait()
    fleet.hubs[victim] = None
    back = await fleet.await_devices()
    await asyncio.sleep(max(0, killed + 15 - time.monotonic()))
    await users.stop()
    await arrivals.stop()
    say(f"all devices back after {back - killed:.2f} s")
    say("arrivals at HAProxy per 100 ms: " + " ".join(map(str, arrivals.since(killed))))
    users.report(killed)
    wrong = [name for name in fleet.names if (await users.ask_once(name)) != name]
    say(f"devices that are not reached afterwards, or answered by another: {len(wrong)} {wrong[:5] or ''}")
    fleet.start_hub(victim)
    await fleet.await_hubs()


class Arrivals:
    """The times of connections of devices."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.samples = []
        self.task = asyncio.create_task(self.run())

    async def run(self):
        while True:
            total = sum(int(self.fleet.frontend(number, "devices-in")["stot"]) for number in range(2))
            self.samples.append((time.monotonic(), total))
            await asyncio.sleep(0.05)

    async def stop(self):
        self.task.cancel()

    def since(self, begin):
        bins = collections.Counter()
        for (at, total), (_, before) in zip(self.samples[1:], self.samples):
            if at >= begin:
                bins[int((at - begin) * 10)] += total - before
        last = max((index for index, count in bins.items() if count), default=0)
        return [bins[index] for index in range(last + 1)]


class Users:
    """Users that each keep a connection to their device, like a browser, and open a new one when it is lost."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.results = []
        self.tasks = []
        self.are_stopped = False
        self.context = ssl.create_default_context(cafile=fleet.folder / "ca.pem")

    def start(self):
        names = random.sample(self.fleet.names, min(self.fleet.options.users, len(self.fleet.names)))
        self.tasks = [asyncio.create_task(self.use(name)) for name in names]

    async def stop(self):
        self.are_stopped = True
        await asyncio.gather(*self.tasks)

    async def use(self, name):
        connection = None
        await asyncio.sleep(random.random() / 2)
        while not self.are_stopped:
            begin = time.monotonic()
            is_new = connection is None
            try:
                connection = connection or await self.connect(name)
                outcome = await asyncio.wait_for(self.ask(connection, name), 20)
                outcome = "right" if outcome == name else outcome if outcome.startswith("status ") else "WRONG ANSWER"
            except (OSError, ssl.SSLError, asyncio.IncompleteReadError, asyncio.TimeoutError, ConnectionError) as error:
                outcome = f"{type(error).__name__} on a {'new' if is_new else 'kept'} connection"
                if connection:
                    connection[1].close()
                connection = None
            self.results.append((begin, time.monotonic(), name, outcome))
            if outcome.startswith("status 421") and connection:
                # As browsers do (RFC 9110 §15.5.20).
                connection[1].close()
                connection = None
            await asyncio.sleep(max(0, begin + 0.5 - time.monotonic()))
        if connection:
            connection[1].close()

    async def connect(self, name):
        port = self.fleet.ports[random.choice(["USERS_1", "USERS_2"])]
        return await asyncio.wait_for(
            asyncio.open_connection("127.0.0.1", port, ssl=self.context, server_hostname=f"{name}.{SUFFIX}"), 10)

    async def ask(self, connection, name):
        reader, writer = connection
        writer.write(f"GET /.well-known/byway HTTP/1.1\r\nHost: {name}.{SUFFIX}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        body = await reader.readexactly(int(fields.get("content-length", 0)))
        status = head[0].split()[1]
        if status != "200":
            return f"status {status}" + (f", retry-after {fields['retry-after']}" if "retry-after" in fields else "")
        return json.loads(body)["name"]

    async def ask_once(self, name):
        try:
            connection = await self.connect(name)
            answer = await asyncio.wait_for(self.ask(connection, name), 20)
            connection[1].close()
            return answer
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError) as error:
            return repr(error)

    def report(self, killed):
        before = [r for r in self.results if r[1] < killed]
        after = [r for r in self.results if r[1] >= killed]
        for title, results in (("before", before), ("from then on", after)):
            outcomes = collections.Counter(outcome for _, _, _, outcome in results)
            say(f"requests {title}: {len(results)}: " + "; ".join(f"{n} {o}" for o, n in outcomes.most_common()))
        failures = [r for r in after if r[3] != "right"]
        if failures:
            say(f"last failure {max(r[1] for r in failures) - killed:.2f} s after the hub's death")
        say(f"slowest right answer {max(r[1] - r[0] for r in after if r[3] == 'right'):.2f} s")


async def mosquitto(fleet):
    """Measures as many clients of a broker, over TLS with client certificates, with its usual keepalive of 60 s."""
    count = fleet.options.devices
    broker = fleet.start_broker()
    await asyncio.sleep(1)
    before = anonymous(broker)
    tasks = []
    for name in fleet.names:
        tasks.append(asyncio.create_task(MQTT(fleet, name).run()))
        await asyncio.sleep(0.01)
    await asyncio.sleep(5)
    say(f"memory of mosquitto for each idle client: {(anonymous(broker) - before) / count / 1024:.1f} KiB")
    taken, given = fleet.mqtt_bytes()
    begin, used = time.monotonic(), processor(broker)
    await asyncio.sleep(fleet.options.idle)
    took = time.monotonic() - begin
    hour = 3600 / took / count
    taken, given = (after - was for after, was in zip(fleet.mqtt_bytes(), (taken, given)))
    # PINGREQ and PINGRESP have two bytes, and a record of TLS 22 more.
    rounds = taken / 24
    wire = taken + given + 3 * rounds * HEADERS
    say(
        f"bytes for each idle client in an hour: {taken * hour:,.0f} of TLS to the broker, {given * hour:,.0f} from it, "
        f"{wire * hour:,.0f} on the wire; {rounds * hour:.1f} PINGREQs")
    say(f"processor time of mosquitto for {count} idle clients in an hour: {(processor(broker) - used) * 3600 / took:.1f} s")
    failed = sum(task.done() for task in tasks)
    if failed:
        say(f"{failed} clients have failed: {next(task.exception() for task in tasks if task.done())}")
    for task in tasks:
        task.cancel()


class MQTT:
    """An idle client of MQTT 3.1.1."""

    def __init__(self, fleet, name):
        self.name = name
        self.context = fleet.device_context(name)
        self.port = fleet.ports["MQTT_FRONT"]

    async def run(self):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self.context, server_hostname=f"{self.name}.{SUFFIX}")
        name = self.name.encode()
        payload = b"\x00\x04MQTT\x04\x02\x00\x3c" + len(name).to_bytes(2, "big") + name
        writer.write(b"\x10" + bytes([len(payload)]) + payload)
        assert await reader.readexactly(4) == b"\x20\x02\x00\x00", "CONNACK"
        topic = b"\x00\x01" + len(name + b"/in").to_bytes(2, "big") + name + b"/in\x00"
        writer.write(b"\x82" + bytes([len(topic)]) + topic)
        await reader.readexactly(5)
        while True:
            await asyncio.sleep(60)
            writer.write(b"\xc0\x00")
            await reader.readexactly(2)


# MARK: The processes under test


class Certificates:
    """A certificate authority, the hubs' certificate, and one for each device."""

    @staticmethod
    def make(folder, names):
        def openssl(*words, text=None):
            subprocess.run(["openssl", *words], cwd=folder, input=text, text=True, check=True, capture_output=True)

        def key(name):
            return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key"]

        def issue(name, alternatives):
            (folder / f"{name}.ext").write_text(f"subjectAltName={alternatives}\n")
            openssl("req", *key(name), "-out", f"{name}.csr", "-subj", f"/CN={name}")
            openssl(
                "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", str(random.getrandbits(64)),
                "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem")

        openssl(
            "req", *key("ca"), "-x509", "-out", "ca.pem", "-days", "2", "-subj", "/CN=fleet",
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
        issue("hub", f"DNS:*.{SUFFIX},DNS:localhost")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda name: issue(name, f"DNS:{name}.{SUFFIX}"), names))


class Fleet:
    """Hubs, balancers and devices, and their reported state."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.names = [f"d{number}" for number in range(options.devices)]
        places = ["DEVICES_1", "DEVICES_2", "USERS_1", "USERS_2", "LB1", "LB2", "MQTT", "MQTT_FRONT"]
        places += [f"HUB{hub}_{side}" for hub in (1, 2, 3) for side in ("DEVICES", "USERS")]
        self.ports = dict(zip(places, free_ports(len(places))))
        self.log = open(folder / "log", "w")
        self.hubs, self.balancers, self.others = [None] * 3, [], []

    def start(self):
        for number in range(3):
            self.start_hub(number)
        extra = self.folder / "extra.cfg"
        extra.write_text(
            f"defaults\n  mode tcp\n  option contstats\n  timeout connect 2s\n  timeout client 3m\n  timeout server 3m\n"
            f"listen mqtt\n  bind 127.0.0.1:{self.ports['MQTT_FRONT']}\n  server broker 127.0.0.1:{self.ports['MQTT']}\n")
        for number in (1, 2):
            variables = {place: f"127.0.0.1:{port}" for place, port in self.ports.items()}
            variables |= {
                "SUFFIX": SUFFIX, "MAXCONN": "4000", "ADMIN": f"{self.folder}/lb{number}", "DEVICES": variables[f"DEVICES_{number}"],
                "USERS": variables[f"USERS_{number}"]}
            more = ["-f", extra] if number == 1 else []
            self.balancers.append(
                subprocess.Popen(
                    ["haproxy", "-db", "-L", f"lb{number}", "-f", CONFIGURATION, *more], env=os.environ | variables,
                    stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log))

    def start_hub(self, number):
        files = f"cert={self.folder}/hub.pem&key={self.folder}/hub.key"
        self.hubs[number] = subprocess.Popen(
            [
                self.options.byway, "proxy", "--suffix", SUFFIX, "--log-level", "warning",
                "--listen", f"tls://127.0.0.1:{self.ports[f'HUB{number + 1}_USERS']}?{files}",
                "--hub", f"tls://127.0.0.1:{self.ports[f'HUB{number + 1}_DEVICES']}?{files}&ca={self.folder}/ca.pem"],
            stdin=subprocess.DEVNULL, stderr=self.log)

    def dial(self, share, to=("DEVICES_1", "DEVICES_2")):
        """Starts the process with a third of the devices."""
        lines, numbers = ["origin = http://127.0.0.1:9", "log-level = error"], range(share, self.options.devices, 3)
        for number in numbers:
            name, place = self.names[number], to[number // 3 % len(to)]
            lines += [
                f"[gateway {name}]", f"name = {name}",
                f"link = tls://127.0.0.1:{self.ports[place]}?open=dial&name={name}.{SUFFIX}"
                f"&ca={self.folder}/ca.pem&cert={self.folder}/{name}.pem&key={self.folder}/{name}.key"]
        file = self.folder / f"gateways{share}.conf"
        file.write_text("\n".join(lines) + "\n")
        gateways = subprocess.Popen(
            [self.options.byway, "gateway", "--config", file], stdin=subprocess.DEVNULL, stderr=self.log)
        self.others.append(gateways)
        return gateways

    def start_broker(self):
        (self.folder / "mosquitto.conf").write_text(
            f"listener {self.ports['MQTT']} 127.0.0.1\ncafile {self.folder}/ca.pem\ncertfile {self.folder}/hub.pem\n"
            f"keyfile {self.folder}/hub.key\nrequire_certificate true\nuse_identity_as_username true\npersistence false\n"
            "user root\nlog_type error\n")
        broker = subprocess.Popen(
            ["mosquitto", "-c", self.folder / "mosquitto.conf"], stdin=subprocess.DEVNULL, stderr=self.log)
        self.others.append(broker)
        return broker

    def stop(self):
        processes = [p for p in [*self.others, *self.balancers, *self.hubs] if p]
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()

    def device_context(self, name):
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        context.load_cert_chain(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        context.set_alpn_protocols(["h2"])
        return context

    def ask(self, balancer, words):
        """Sends a command of HAProxy's runtime API."""
        with socket.socket(socket.AF_UNIX) as admin:
            admin.connect(f"{self.folder}/lb{balancer + 1}")
            admin.sendall(words.encode() + b"\n")
            answer = b""
            while part := admin.recv(65536):
                answer += part
        return answer.decode()

    def frontend(self, balancer, name):
        head, *rows = [line.split(",") for line in self.ask(balancer, f"show stat {name} 1 -1").lstrip("# ").splitlines() if line]
        return dict(zip(head, rows[0]))

    def bytes(self):
        stats = [self.frontend(number, "devices-in") for number in range(2)]
        return sum(int(s["bin"]) for s in stats), sum(int(s["bout"]) for s in stats)

    def mqtt_bytes(self):
        stat = self.frontend(0, "mqtt")
        return int(stat["bin"]), int(stat["bout"])

    def count_devices(self):
        """Returns the number of connected devices of each hub."""
        counts = []
        for number, hub in enumerate(self.hubs):
            if not hub:
                counts.append(0)
                continue
            answer = subprocess.run(
                [
                    "curl", "-qs", "--http1.1", "-m", "3", "--cacert", self.folder / "ca.pem",
                    f"https://localhost:{self.ports[f'HUB{number + 1}_USERS']}/devices.json"], capture_output=True, text=True)
            devices = json.loads(answer.stdout)["devices"] if answer.returncode == 0 else []
            counts.append(sum(device["state"] == "up" for device in devices))
        return counts

    async def await_hubs(self, after=0):
        """Waits until both HAProxies use all hubs. They may still use a hub for some seconds after it has gone."""
        await asyncio.sleep(after)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            await asyncio.sleep(0.2)
            try:
                stats = [self.ask(number, "show stat devices 4 -1") for number in range(2)]
            except OSError:
                continue
            if all(stat.count(",UP,") == 3 for stat in stats) and all(b.poll() is None for b in self.balancers):
                return
        sys.exit(f"HAProxy does not use the hubs:\n{(self.folder / 'log').read_text()[-3000:]}")

    async def await_devices(self):
        """Returns the time when that was the case."""
        count = self.options.devices
        end = time.monotonic() + 60
        while time.monotonic() < end:
            counts = await asyncio.to_thread(self.count_devices)
            if sum(counts) >= count:
                return time.monotonic()
            await asyncio.sleep(0.1)
        sys.exit(f"never {count} devices but {counts}:\n{(self.folder / 'log').read_text()[-3000:]}")


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def anonymous(process):
    """Returns the private memory, without the pages of the program's file."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")) << 10


def processor(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
