"""Links between proxy and gateway that can be cut: through a relay, a login or a line."""
import asyncio
import getpass
import os
import shutil
import signal
import socket
import struct
import subprocess


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def pump(reader, writer):
    """Copies one direction of a connection."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.transport.abort()


class Link:
    """The base class of links: two addresses, and a cut for a given time."""

    near = far = ""

    def __init__(self, folder, byway):
        self.folder, self.byway = folder, byway

    async def start(self): ...

    async def stop(self): ...

    async def cut(self, seconds, hard): ...


class Relayed(Link):
    """A relay in this process that ends, resets or refuses connections."""

    def __init__(self, folder, byway, kind):
        super().__init__(folder, byway)
        self.kind = kind
        self.pairs = set()
        if kind == "unix":
            self.front, self.back = f"{folder}/near", f"{folder}/far"
            self.near, self.far = f"unix:{self.front}", f"unix:{self.back}"
        else:
            self.front, self.back = free_port(), free_port()
            path = "/soak" if kind == "ws" else ""
            self.near, self.far = (f"{kind}://127.0.0.1:{port}{path}" for port in (self.front, self.back))

    async def start(self):
        if self.kind == "unix":
            self.server = await asyncio.start_unix_server(self.relay, self.front)
        else:
            self.server = await asyncio.start_server(self.relay, "127.0.0.1", self.front)

    async def stop(self):
        self.server.close()
        self.end_all(True)

    async def relay(self, reader, writer):
        try:
            if self.kind == "unix":
                far = await asyncio.open_unix_connection(self.back)
            else:
                far = await asyncio.open_connection("127.0.0.1", self.back)
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, far[1])
        self.pairs.add(pair)
        await asyncio.gather(pump(reader, far[1]), pump(far[0], writer))
        self.pairs.discard(pair)
        for end in pair:
            end.close()

    def end_all(self, hard):
        for pair in list(self.pairs):
            for writer in pair:
                if hard and self.kind != "unix":
                    sock = writer.get_extra_info("socket")
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort() if hard else writer.close()

    async def cut(self, seconds, hard):
        self.server.close()
        self.end_all(hard)
        await asyncio.sleep(seconds)
        if self.kind == "unix" and os.path.exists(self.front):
            os.unlink(self.front)
        await self.start()


class SSH(Link):
    """A link through a local sshd to the gateway's socket. Its sessions can be killed."""

    def __init__(self, folder, byway):
        super().__init__(folder, byway)
        self.port = free_port()
        self.far = f"unix:{folder}/far"
        options = f"identity={folder}/user&known_hosts={folder}/known_hosts&config=none"
        self.near = f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}{folder}/far?{options}"

    async def start(self):
        os.makedirs("/run/sshd", exist_ok=True) if os.getuid() == 0 else None
        for name in ["host", "user"]:
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{self.folder}/{name}"], check=True)
        host = open(f"{self.folder}/host.pub").read()
        open(f"{self.folder}/known_hosts", "w").write(f"[127.0.0.1]:{self.port} {host}")
        lines = [
            f"ListenAddress 127.0.0.1:{self.port}", f"HostKey {self.folder}/host", "PidFile none", "UsePAM no",
            "StrictModes no", f"AuthorizedKeysFile {self.folder}/user.pub", "PermitRootLogin yes",
            "PasswordAuthentication no", "KbdInteractiveAuthentication no", "MaxStartups 500", "UseDNS no",
        ]
        open(f"{self.folder}/sshd_config", "w").write("\n".join(lines) + "\n")
        log = open(f"{self.folder}/sshd.log", "w")
        self.sshd = await asyncio.create_subprocess_exec(
            "/usr/sbin/sshd", "-D", "-e", "-f", f"{self.folder}/sshd_config", stderr=log)

    async def cut(self, seconds, hard):
        sessions = open(f"/proc/{self.sshd.pid}/task/{self.sshd.pid}/children").read().split()
        for session in sessions:
            os.kill(int(session), signal.SIGKILL if hard else signal.SIGTERM)

    async def stop(self):
        self.sshd.terminate()
        await self.sshd.wait()


class Serial(Link):
    """An emulated line between two pseudo-terminals, whose cable can be pulled."""

    def __init__(self, folder, byway):
        super().__init__(folder, byway)
        self.near, self.far = (f"serial:{folder}/{end}?baud=921600" for end in "ab")

    async def start(self):
        self.line = await asyncio.create_subprocess_exec(
            self.byway, "line", "--baud", "921600", f"{self.folder}/a", f"{self.folder}/b",
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=open(f"{self.folder}/line.log", "w"))
        for _ in range(500):
            if os.path.exists(f"{self.folder}/b"):
                return
            await asyncio.sleep(0.02)
        raise SystemExit("the emulated line did not come up")

    async def cut(self, seconds, hard):
        self.line.stdin.write(b"cut\n" if hard else b"cut lose\n")
        await asyncio.sleep(seconds)
        self.line.stdin.write(b"restore\n")

    async def stop(self):
        self.line.terminate()
        await self.line.wait()


class Virtio(Link):
    """Two sockets as QEMU makes them for virtio ports: each serves one program at a time, and keeps no bytes for an absent one."""

    def __init__(self, folder, byway):
        super().__init__(folder, byway)
        self.paths = [f"{folder}/near", f"{folder}/far"]
        self.near, self.far = (f"virtio:{path}" for path in self.paths)
        self.writers, self.free = [None, None], [asyncio.Lock(), asyncio.Lock()]

    async def start(self):
        self.servers = [
            await asyncio.start_unix_server(lambda reader, writer, end=end: self.serve(end, reader, writer), path)
            for end, path in enumerate(self.paths)
        ]

    async def serve(self, end, reader, writer):
        async with self.free[end]:
            self.writers[end] = writer
            try:
                while data := await reader.read(65536):
                    other = self.writers[1 - end]
                    if other and not other.is_closing():
                        other.write(data)
                        await other.drain()
            except OSError:
                pass
            self.writers[end] = None
            writer.close()

    async def stop(self):
        for server in self.servers:
            server.close()
        for writer in filter(None, self.writers):
            writer.transport.abort()

    async def cut(self, seconds, hard):
        await self.stop()
        await asyncio.sleep(seconds)
        if hard:
            for path in self.paths:
                os.unlink(path)
        await self.start()


class MQTT(Link):
    """A link through a broker that is stopped and started again."""

    def __init__(self, folder, byway):
        super().__init__(folder, byway)
        self.port = free_port()
        self.near = self.far = f"mqtt://127.0.0.1:{self.port}/soak"

    async def start(self):
        settings = f"user {getpass.getuser()}\nlistener {self.port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
        open(f"{self.folder}/mosquitto.conf", "w").write(settings)
        program = shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin")
        self.broker = await asyncio.create_subprocess_exec(
            program or "mosquitto", "-c", f"{self.folder}/mosquitto.conf", stderr=open(f"{self.folder}/mosquitto.log", "a"))

    async def cut(self, seconds, hard):
        self.broker.kill() if hard else self.broker.terminate()
        await self.broker.wait()
        await asyncio.sleep(seconds)
        await self.start()

    async def stop(self):
        self.broker.terminate()
        await self.broker.wait()


def make(kind, folder, byway):
    links = {"ssh": SSH, "serial": Serial, "virtio": Virtio, "mqtt": MQTT}
    if kind in links:
        return links[kind](folder, byway)
    return Relayed(folder, byway, kind)
