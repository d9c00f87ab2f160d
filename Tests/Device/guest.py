"""Gateways in the device, each on one link, in front of the device's web server."""
from waiting import until

ORIGIN = "http://127.0.0.1:80"
# The WebSocket server.
ALLOWED = "127.0.0.1:81"


class Gateway:
    """A process in the device with its log."""

    def __init__(self, shell, name, link):
        self.shell = shell
        self.link = link
        self.log = f"/tmp/{name}.log"
        self.process = None

    def start(self):
        # The device's web server lets few connections wait, and a busy machine emulates slowly.
        options = f"--origin {ORIGIN} --allow {ALLOWED} --connect-timeout 60"
        command = f"byway gateway --link '{self.link}' {options} >{self.log} 2>&1 & echo $!"
        self.process = self.shell.run(command).strip()
        wait_for(self.shell, f"grep 'gateway ready' {self.log}", 20)

    def end(self, signal):
        """Returns the exit status, which only the shell that started the process knows."""
        return self.shell.run(f"kill -{signal} {self.process}; wait {self.process}; echo $?", 15).strip()

    def text(self):
        return self.shell.run(f"cat {self.log}", check=False)


def wait_for(shell, command, seconds):
    """Repeats a command in the device until it succeeds, and returns its output."""
    failure = None

    def output():
        nonlocal failure
        try:
            return [shell.run(command)]
        except TimeoutError:
            raise
        except OSError as error:
            failure = error

    return until(output, seconds, lambda: str(failure))[0]


def settings(shell, device):
    """Returns the settings of a port by stty: ({"parenb": True, "icanon": False…}, speed)."""
    words = shell.run(f"stty -a -F {device}").replace(";", " ").split()
    flags = {word.removeprefix("-"): not word.startswith("-") for word in words}
    return flags, int(words[words.index("speed") + 1])
