"""The peers behind each guide, and the names that the test replaces.

Hardware becomes an emulated line or a real server on this machine, and each fixed port or path a free one. Each table is complete: a key
that the page does not contain is a fault, and so is a port, device or folder of the system that remains in a command.
"""

import json
import re

import peers
from page import Fault

# Names that a command must not contain after the replacements.
REAL = re.compile(r"/dev/tty|/run/(?!/)|/var/|/etc/|(?<![\w.])0\.0\.0\.0|:(?:80|8080|8443|7000|60000)\b")


class Setting:
    """What a page needs besides the command. Subclasses add to `replaced`, and start peers in `start`."""

    def __init__(self, folder, tools):
        self.folder = folder
        self.tools = tools
        self.started = []
        self.replaced = {}
        self.programs = folder / "programs"
        self.programs.mkdir()
        (self.programs / "byway").symlink_to(tools.byway.resolve())

    def start(self, page):
        pass

    def stop(self):
        for peer in reversed(self.started):
            peer.stop()

    def before(self, command):
        """Checks a command, or waits for what a reader would wait for."""
        known = re.sub(re.escape(str(self.folder)) + r"[^\s'\"]*", "", command)
        if found := REAL.search(known):
            raise Fault(f": {command} names {found[0]} of the system: replace it in settings.py")

    def stand_in(self, name, script):
        """Adds a program in the place of one that would change this machine."""
        path = self.programs / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)


class SerialConsole(Setting):
    """nginx is the router's web server, and an emulated line the cable."""

    def __init__(self, folder, tools):
        super().__init__(folder, tools)
        self.web, self.proxy = peers.free_port(), peers.free_port()
        self.replaced = {
            "/dev/ttyS0": f"{folder}/router",
            "/dev/ttyUSB0": f"{folder}/laptop",
            "http://127.0.0.1:80\n": f"http://127.0.0.1:{self.web}\n",
            "127.0.0.1:8080": f"127.0.0.1:{self.proxy}",
        }
        # A login on the console that this command ends; others fail.
        self.stand_in("sudo", 'exec "$@"')
        self.stand_in("systemctl", '[ "$*" = "disable --now serial-getty@ttyS0" ]')

    def start(self, page):
        self.started.append(peers.Nginx(self.folder, self.web, {"/": "<title>Router</title>\n"}))
        self.started.append(peers.Line(self.tools.byway, 115200, self.folder / "laptop", self.folder / "router"))


class LoginConsole(Setting):
    """A getty on an emulated line is the board's console, and nginx its web server. The board's byway reaches that one at its port."""

    def __init__(self, folder, tools):
        super().__init__(folder, tools)
        self.web, self.proxy = peers.free_port(), peers.free_port()
        self.replaced = {
            "/dev/ttyUSB0": f"{folder}/board/console",
            "/tmp/hello": f"{folder}/hello-there",
            "127.0.0.1:8080": f"127.0.0.1:{self.proxy}",
        }
        byway = tools.byway.resolve()
        # The password that a reader exports in the shell.
        (self.programs / "byway").unlink()
        self.stand_in("byway", f"BYWAY_LINK_PASSWORD='open sesame' exec {byway} \"$@\"")
        board = folder / "board" / "programs"
        board.mkdir(parents=True)
        (board / "byway").write_text(
            "#!/bin/bash\n" f'exec {byway} "${{@/#http:\\/\\/127.0.0.1:80/http://127.0.0.1:{self.web}}}"\n')
        (board / "byway").chmod(0o755)
        (folder / "hello").write_text("#!/bin/sh\necho hello\n")

    def start(self, page):
        self.started.append(peers.Nginx(self.folder, self.web, {"/": "<title>Board</title>\n"}))
        self.started.append(peers.Peer(
            ["/usr/bin/python3", "-B", str(peers.path("Tests/Support/console.py")), f"{self.folder}/board", "--path",
             f"{self.folder}/board/programs"], "ready"))


class USBPrinter(Setting):
    """nginx is ipp-usb with the printer's web page, and sshd the login to the computer that the printer is plugged into."""

    def __init__(self, folder, tools):
        super().__init__(folder, tools)
        self.web, self.proxy, self.login = peers.free_port(), peers.free_port(), peers.SSH(folder)
        self.replaced = {
            "ssh://pi@desk.lan?tcp=127.0.0.1:60000&http=1.1": f"{self.login.address}?tcp=127.0.0.1:{self.web}&http=1.1&{self.login.options}",
            "http://localhost:60000/": f"http://localhost:{self.web}/",
            "127.0.0.1:8080": f"127.0.0.1:{self.proxy}",
        }

    def start(self, page):
        self.started.append(peers.Nginx(self.folder, self.web, {"/": "<title>LaserJet</title>\n"}))
        self.started.append(self.login)
        self.login.start()


class DockerOverSSH(Setting):
    """Podman's service is the server's Docker. The clients are docker and the command."""

    def __init__(self, folder, tools):
        super().__init__(folder, tools)
        self.login = peers.SSH(folder)
        self.replaced = {
            "ssh://me@server.example/var/run/docker.sock?http=1.1":
                f"{self.login.address}{folder}/podman.sock?http=1.1&{self.login.options}",
            # The image of the service.
            " debian ": " box ",
        }

    def start(self, page):
        self.started.append(peers.Podman(self.folder))
        self.started.append(self.login)
        self.login.start()


class Fleet(Setting):
    """The certificates and the web servers of the devices are those of the page."""

    def __init__(self, folder, tools):
        super().__init__(folder, tools)
        self.web, self.other, self.hub, self.proxy = (peers.free_port() for _ in range(4))
        self.replaced = {
            "tls://0.0.0.0:7000": f"tls://127.0.0.1:{self.hub}",
            "tls://localhost:7000": f"tls://localhost:{self.hub}",
            "127.0.0.1:8080": f"127.0.0.1:{self.proxy}",
            "localhost:8080": f"localhost:{self.proxy}",
            "8001": f"{self.web}",
            "8002": f"{self.other}",
        }

    def before(self, command):
        super().before(command)
        # A gateway does not print when its hub has accepted it.
        if command.startswith("curl "):
            peers.wait_for(f"http://localhost:{self.proxy}/devices.json", lambda text: text.count('"state":"up"') == 2)


class URLSession(Setting):
    """The app is a built product of this package with the listing of the page."""

    def __init__(self, folder, tools):
        super().__init__(folder, tools)
        self.web = peers.free_port()
        self.replaced = {
            "/tmp/device.sock": f"{folder}/device.sock",
            "/dev/ttyS0": f"{folder}/far",
            "/dev/ttyUSB0": f"{folder}/near",
            "http://127.0.0.1:80\n": f"http://127.0.0.1:{self.web}\n",
            "$ swift run app ": f"$ {tools.products.resolve()}/GuideApp ",
        }

    def start(self, page):
        [manifest], [app] = page.listings["manifest"], page.listings["swift"]
        if app != peers.path("Tests/Guides/App/Main.swift").read_text():
            raise Fault(f"{page.path.name}: its app is not Tests/Guides/App/Main.swift")
        self.check_manifest(page, manifest, app)
        self.started.append(peers.Nginx(self.folder, self.web, {"/status": "{\"celsius\": 21.5}"}))
        self.started.append(peers.Line(self.tools.byway, 115200, self.folder / "near", self.folder / "far"))

    def check_manifest(self, page, text, app):
        """The manifest of the page is valid, and names products of this package that the app imports."""
        package = json.loads(peers.manifest(self.folder, text))
        ours = json.loads(peers.manifest_here())
        products = {product["name"] for product in ours["products"]}
        used = {dependency["product"][0] for target in package["targets"] for dependency in target["dependencies"]}
        imported = set(re.findall(r"^import (\w+)", app, re.M)) - {"Foundation", "FoundationNetworking"}
        if not used <= products or used != imported:
            raise Fault(f"{page.path.name}: the manifest uses {used}, the app {imported}")


class BadLine(Setting):
    """The line is the page's own."""

    def __init__(self, folder, tools):
        super().__init__(folder, tools)
        self.replaced = {"/tmp/": f"{folder}/"}


class Phones(Setting):
    """nginx is the device, and curl the phone's browser. Names are those of the page; only the address is another."""

    def __init__(self, folder, tools):
        super().__init__(folder, tools)
        self.web, self.proxy = peers.free_port(), peers.free_port()
        self.replaced = {
            "/run/byway.sock": f"{folder}/byway.sock",
            "https://0.0.0.0:8443": f"https://127.0.0.1:{self.proxy}",
            "http://127.0.0.1:80\n": f"http://127.0.0.1:{self.web}\n",
            "$ curl ": f"$ curl -sS --connect-to hub.lan:8443:127.0.0.1:{self.proxy} ",
        }

    def before(self, command):
        super().before(command.replace("hub.lan:8443", ""))

    def start(self, page):
        self.started.append(peers.Nginx(self.folder, self.web, {"/": "<title>Heating</title>\n"}))


class OwnCertificates(Setting):
    """The web server is the page's own, and curl the browser."""

    def __init__(self, folder, tools):
        super().__init__(folder, tools)
        self.hub = peers.free_port()
        self.replaced = {
            port: str(number)
            for port, number in [
                ("8000", peers.free_port()), ("8443", peers.free_port()), ("8444", peers.free_port()), ("7000", peers.free_port()),
                ("7001", peers.free_port()), ("8080", self.hub),
            ]
        }
        self.replaced["https://0.0.0.0:8444"] = f"https://127.0.0.1:{self.replaced['8444']}"

    def before(self, command):
        super().before(command)
        # A gateway does not print when its hub has accepted it.
        if "camera.localhost" in command:
            peers.wait_for(f"http://localhost:{self.hub}/devices.json", lambda text: '"state":"up"' in text)


class FirstAccessory(Setting):
    """The board is QEMU's, and the cable the page's own."""

    SOURCES = "embedded/examples/first-accessory"

    def __init__(self, folder, tools):
        super().__init__(folder, tools)
        self.proxy = peers.free_port()
        (self.programs / "emulate").symlink_to(peers.path("embedded/emulate"))
        self.replaced = {
            "/tmp/": f"{folder}/",
            "make -s -C embedded/examples/first-accessory": f"make -s -C {peers.path(self.SOURCES)} BUILD={folder}/build",
            "embedded/emulate embedded/examples/first-accessory/build/": f"emulate {folder}/build/",
            "127.0.0.1:8080": f"127.0.0.1:{self.proxy}",
        }

    def start(self, page):
        if page.listings["c"] != [peers.path(f"{self.SOURCES}/main.c").read_text()]:
            raise Fault(f"{page.path.name}: its program is not {self.SOURCES}/main.c")


SETTINGS = {
    "certificates.md": OwnCertificates,
    "serial-console.md": SerialConsole,
    "login-console.md": LoginConsole,
    "usb-printer.md": USBPrinter,
    "docker-over-ssh.md": DockerOverSSH,
    "devices-that-dial.md": Fleet,
    "urlsession-on-linux.md": URLSession,
    "bad-line.md": BadLine,
    "phones.md": Phones,
    "first-accessory.md": FirstAccessory,
}
