#!/usr/bin/env python3
"""Every kind of link of this machine, next to what carries HTTP over the same medium without Byway.

    apt install nginx-light libnginx-mod-stream curl openssl socat stunnel4 mosquitto libmosquitto1 python3-paho-mqtt openssh-server
    python3 -B Benchmarks/transports.py --byway .build/release/byway

The rows of Byway are a proxy, the link, and a gateway before nginx; the others lead to the same nginx. Every body is verified with its SHA-256.
The columns are:

- downloads and uploads in MiB/s: the median of the rounds;
- a GET of 1 KiB in milliseconds: the median over one connection to the near end;
- the seconds until 200 concurrent requests, each on a new connection, are answered;
- the processor time of all programs on the path, for each MiB in one direction;
- their resident memory before and at its largest, in MiB.

Programs on the path are both ends, and a broker, a web server or an SSH server between them. Links that need another kernel are measured in
the emulated device: python3 Tests/Device/run.py.
"""
import argparse
import contextlib
import getpass
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

from processes import configure_sshd, free_port, make_certificate
from transportrig import Path, Rig, program

HERE = pathlib.Path(__file__).resolve().parent
STREAM_MODULE = "/usr/lib/nginx/modules/ngx_stream_module.so"
# The largest payload of an MQTT message is 256 MiB.
MESSAGE = 128
# A byte takes ten bits on a serial line.
RATE = 921_600 / 10 / (1 << 20)
COLUMNS = ["down, MiB/s", "up, MiB/s", "GET, ms", "200 GETs, s", "CPU, ms/MiB", "idle, MiB", "peak, MiB"]


def main():
    options = parse()
    # Memory as a file system, so that the speed of a disk does not matter.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    print(f"| link | {' | '.join(COLUMNS)} |\n|---|{'--:|' * len(COLUMNS)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="byway-links-", dir=options.folder or place) as name, contextlib.ExitStack() as origin:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        rig = Rig(options, folder, origin)
        links = Links(rig)
        for title, make in links.all().items():
            if options.only and not any(word in title for word in options.only):
                continue
            with contextlib.ExitStack() as running:
                rig.running = running
                path = make()
                if path is None:
                    print(f"{title}: this kernel does not loop it back; run Tests/Device/run.py", file=sys.stderr)
                else:
                    print(row(title, rig.measure(path)), flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", type=os.path.abspath, required=True, help="the command, built for release")
    parser.add_argument("--size", type=int, default=256, help="of a body in MiB (default: 256)")
    parser.add_argument("--seconds", type=int, default=8, help="that a body takes on a slow line (default: 8)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=300, help="small ones for each link (default: 300)")
    parser.add_argument("--only", nargs="*", metavar="WORD", help="rows whose titles contain one of the words")
    parser.add_argument("--folder", help="for four bodies (default: in /dev/shm)")
    options = parser.parse_args()
    if not os.access(options.byway, os.X_OK):
        parser.error(f"{options.byway} is not a command: make release")
    return options


def row(title, values):
    down, up, small, at_once, processor, idle, peak = values
    cells = [number(down), number(up), f"{small:.2f}", "–" if at_once is None else f"{at_once:.2f}"]
    cells += [f"{processor:.1f}", f"{idle:,.0f}", f"{peak:,.0f}"]
    return f"| {title} | {' | '.join(cells)} |"


def number(rate):
    return f"{rate:,.0f}" if rate >= 20 else f"{rate:.1f}" if rate >= 1 else f"{rate:.3f}"


class Links:
    """The paths to the origin. Each function starts the programs of one, or returns `None` if the kernel has no such link."""

    def __init__(self, rig):
        self.rig, self.folder = rig, rig.folder
        self.byway = rig.options.byway
        self.origin = f"127.0.0.1:{rig.origin}"
        self.tcp = f"TCP:{self.origin},nodelay"
        make_certificate(self.folder)
        for key in ["host", "user"]:
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / key], check=True, timeout=30)

    def all(self):
        return {
            "`unix:`": self.unix,
            "socat, Unix socket": self.socat_unix,
            "`tcp:`": self.over_tcp,
            "socat, TCP": self.socat_tcp,
            "nginx as a proxy of TCP, twice": self.nginx_stream,
            "`tls:`": lambda: self.network("tls", secure=True),
            "stunnel": self.stunnel,
            "socat, OpenSSL": self.socat_tls,
            "`ws:`": lambda: self.network("ws", "/byway"),
            "`ws:` through nginx": self.websocket_through_nginx,
            "`wss:`": lambda: self.network("wss", "/byway", secure=True),
            "`mqtt:`": self.mqtt,
            "`mqtts:`": self.mqtts,
            "messages of paho-mqtt": self.messages,
            "`exec:socat`": self.exec_socat,
            "`exec:` a gateway on `stdio:`": self.stdio,
            "socat, commands": self.socat_commands,
            "`ssh:`": self.ssh,
            "`exec:ssh` a gateway on `stdio:`": self.ssh_command,
            "`ssh -L`": self.ssh_forward,
            "`serial:` at 921,600 baud": self.serial,
            "socat at 921,600 baud": self.socat_serial,
            "`vsock:`": self.vsock,
            "socat, vsock": self.socat_vsock,
        }

    # Byway

    def gateway(self, link):
        port = self.port_of(link)
        return self.rig.start([self.byway, "gateway", "--link", link, "--origin", f"http://{self.origin}"], port)

    @staticmethod
    def port_of(link):
        """Returns the port of loopback that a gateway listens on."""
        if link.split(":")[0] in ["tcp", "tls", "ws", "wss"]:
            return int(link.split("127.0.0.1:")[1].split("/")[0].split("?")[0])

    def proxy(self, link, *processes, **options):
        port = free_port()
        process = self.rig.start([self.byway, "proxy", "--link", link, "--listen", f"127.0.0.1:{port}"], port)
        return Path(port, [process, *processes], **options)

    def unix_gateway(self):
        place = self.folder / f"gateway-{free_port()}"
        gateway = self.gateway(f"unix:{place}")
        self.rig.await_file(place, gateway)
        return place, gateway

    def unix(self):
        place, gateway = self.unix_gateway()
        return self.proxy(f"unix:{place}", gateway)

    def over_tcp(self):
        return self.network("tcp")

    def network(self, scheme, path="", secure=False):
        address = f"{scheme}://127.0.0.1:{free_port()}{path}"
        pair = f"?cert={self.folder}/cert.pem&key={self.folder}/key.pem&clients=any" if secure else ""
        trust = f"?ca={self.folder}/cert.pem&name=localhost" if secure else ""
        return self.proxy(address + trust, self.gateway(address + pair))

    def websocket_through_nginx(self):
        inner, outer = free_port(), free_port()
        gateway = self.gateway(f"ws://127.0.0.1:{inner}/byway")
        nginx = self.rig.nginx("websocket", f"""http {{
            access_log off;
            server {{
              listen 127.0.0.1:{outer};
              location /byway {{
                proxy_pass http://127.0.0.1:{inner};
                proxy_http_version 1.1;
                proxy_set_header Upgrade $http_upgrade;
                proxy_set_header Connection "upgrade";
              }}
            }}
          }}""", outer)
        return self.proxy(f"ws://127.0.0.1:{outer}/byway", gateway, nginx)

    def broker(self, secure=False):
        port = free_port()
        keys = f"certfile {self.folder}/cert.pem\nkeyfile {self.folder}/key.pem\n" if secure else ""
        (self.folder / "mosquitto.conf").write_text(f"user root\nlistener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n{keys}")
        return port, self.rig.start([program("mosquitto", "mosquitto"), "-c", self.folder / "mosquitto.conf"], port)

    def mqtt(self):
        port, broker = self.broker()
        link = f"mqtt://127.0.0.1:{port}/bench/device"
        return self.proxy(link, self.gateway(link), broker)

    def mqtts(self):
        port, broker = self.broker(secure=True)
        link = f"mqtts://localhost:{port}/bench/device?ca={self.folder}/cert.pem"
        return self.proxy(link, self.gateway(link), broker)

    def exec_socat(self):
        place, gateway = self.unix_gateway()
        return self.proxy(f"exec:{program('socat', 'socat')} - UNIX-CONNECT:{place}", gateway)

    def stdio(self):
        return self.proxy(f"exec:{self.stdio_gateway()}")

    def stdio_gateway(self):
        return f"{self.byway} gateway --link stdio: --origin http://{self.origin}"

    def ssh(self):
        port, sshd = self.sshd()
        place, gateway = self.unix_gateway()
        keys = f"config=none&identity={self.folder}/user&known_hosts={self.folder}/known_hosts"
        return self.proxy(f"ssh://{getpass.getuser()}@127.0.0.1:{port}{place}?{keys}", gateway, sshd)

    def ssh_command(self):
        port, sshd = self.sshd()
        return self.proxy(f"exec:{' '.join(map(str, self.ssh_client(port)))} {self.stdio_gateway()}", sshd)

    def serial(self):
        line, ends = self.line()
        gateway = self.gateway(f"serial:{ends[1]}?baud=921600")
        return self.proxy(f"serial:{ends[0]}?baud=921600", gateway, rate=RATE)

    def vsock(self):
        if not has_vsock():
            return None
        link = f"vsock:local:{free_port()}"
        return self.proxy(link, self.gateway(link))

    # Without Byway

    def socat(self, *arguments, port=None):
        return self.rig.start([program("socat", "socat"), *arguments], port)

    def listener(self, port):
        return f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork,backlog=256,nodelay"

    def socat_unix(self):
        place, port = self.folder / f"socat-{free_port()}", free_port()
        far = self.socat(f"UNIX-LISTEN:{place},fork,backlog=256", self.tcp)
        self.rig.await_file(place, far)
        return Path(port, [self.socat(self.listener(port), f"UNIX-CONNECT:{place}", port=port), far])

    def socat_tcp(self):
        inner, outer = free_port(), free_port()
        far = self.socat(self.listener(inner), self.tcp, port=inner)
        return Path(outer, [self.socat(self.listener(outer), f"TCP:127.0.0.1:{inner}", port=outer), far])

    def socat_tls(self):
        inner, outer = free_port(), free_port()
        pair = f"cert={self.folder}/cert.pem,key={self.folder}/key.pem,verify=0"
        far = self.socat(f"OPENSSL-LISTEN:{inner},bind=127.0.0.1,reuseaddr,fork,backlog=256,{pair}", self.tcp, port=inner)
        secure = f"OPENSSL:localhost:{inner},cafile={self.folder}/cert.pem"
        return Path(outer, [self.socat(self.listener(outer), secure, port=outer), far])

    def socat_commands(self):
        port = free_port()
        command = f"EXEC:{program('socat', 'socat')} - TCP\\:127.0.0.1\\:{self.rig.origin}"
        return Path(port, [self.socat(self.listener(port), command, port=port)])

    def nginx_stream(self):
        if not os.path.exists(STREAM_MODULE):
            raise SystemExit(f"{STREAM_MODULE} is not installed: apt install libnginx-mod-stream")
        inner, outer = free_port(), free_port()
        ends = []
        for name, port, target in [("far", inner, self.origin), ("near", outer, f"127.0.0.1:{inner}")]:
            server = f"server {{ listen 127.0.0.1:{port}; proxy_pass {target}; }}"
            ends.append(self.rig.nginx(name, f"stream {{ {server} }}", port, [STREAM_MODULE]))
        return Path(outer, ends)

    def stunnel(self):
        inner, outer = free_port(), free_port()
        ends = []
        for name, text, port in [
                ("far", f"accept = 127.0.0.1:{inner}\nconnect = {self.origin}\ncert = {self.folder}/cert.pem\nkey = {self.folder}/key.pem", inner),
                ("near", f"client = yes\naccept = 127.0.0.1:{outer}\nconnect = 127.0.0.1:{inner}\n"
                         f"CAfile = {self.folder}/cert.pem\nverifyChain = yes\ncheckHost = localhost", outer)]:
            configuration = self.folder / f"stunnel-{name}.conf"
            configuration.write_text(f"foreground = yes\npid =\nsyslog = no\n[link]\n{text}\n")
            ends.append(self.rig.start([program("stunnel", "stunnel4"), configuration], port))
        return Path(outer, ends)

    def messages(self):
        port, broker = self.broker()
        local = free_port()
        # Debian's packages are for this Python.
        script = ["/usr/bin/python3", "-B", HERE / "mqtthttp.py"]
        if subprocess.run(["/usr/bin/python3", "-c", "import paho.mqtt.client"], capture_output=True, timeout=30).returncode != 0:
            raise SystemExit("paho-mqtt is not installed: apt install python3-paho-mqtt")
        device = self.rig.start([*script, "device", port, self.rig.origin])
        return Path(local, [self.rig.start([*script, "local", port, local], local), device, broker], limit=MESSAGE)

    def ssh_forward(self):
        port, sshd = self.sshd()
        local = free_port()
        client = self.rig.start([*self.ssh_client(port), "-N", "-L", f"127.0.0.1:{local}:{self.origin}"], local)
        return Path(local, [client, sshd])

    def socat_serial(self):
        line, ends = self.line()
        port = free_port()
        tty = "raw,echo=0,b921600"
        far = self.socat(f"OPEN:{ends[1]},{tty}", self.tcp)
        # A process must not read what is meant for the next one, so no connection only tests whether the port is open.
        near = self.socat("-t", "0.01", self.listener(port), f"OPEN:{ends[0]},{tty}")
        return Path(port, [near, far], rate=RATE, is_single=True)

    def socat_vsock(self):
        if not has_vsock():
            return None
        inner, outer = free_port(), free_port()
        far = self.socat(f"VSOCK-LISTEN:{inner},fork,backlog=256", self.tcp)
        return Path(outer, [self.socat(self.listener(outer), f"VSOCK-CONNECT:1:{inner}", port=outer), far])

    # Parts of both

    def sshd(self):
        port = free_port()
        command = [program("sshd", "openssh-server"), "-D", "-e", "-f", configure_sshd(self.folder, port)]
        process = self.rig.start(command, port)
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {(self.folder / 'host.pub').read_text()}")
        return port, process

    def ssh_client(self, port):
        hosts = f"UserKnownHostsFile={self.folder}/known_hosts"
        return ["ssh", "-F", "none", "-p", port, "-i", f"{self.folder}/user", "-o", hosts, "-o", "IdentitiesOnly=yes",
                "-o", "LogLevel=ERROR", "127.0.0.1"]

    def line(self):
        ends = [self.folder / f"line-{free_port()}-{end}" for end in "ab"]
        line = self.rig.start([self.byway, "line", "--baud", "921600", *ends], stdin=subprocess.PIPE)
        self.rig.await_file(ends[1], line)
        return line, ends


def has_vsock():
    """Returns whether the kernel loops back vsock."""
    with contextlib.suppress(OSError, AttributeError), socket.socket(socket.AF_VSOCK) as server, socket.socket(socket.AF_VSOCK) as client:
        server.bind((socket.VMADDR_CID_ANY, socket.VMADDR_PORT_ANY))
        server.listen()
        client.settimeout(2)
        client.connect((1, server.getsockname()[1]))
        return True
    return False


if __name__ == "__main__":
    main()
