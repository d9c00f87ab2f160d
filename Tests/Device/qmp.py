"""A client of QEMU's monitor protocol: one JSON object per line in each direction."""
import json
import socket


class Monitor:
    def __init__(self, path, seconds):
        self.events = []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(seconds)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("r")
        json.loads(self.lines.readline())  # the greeting
        self.command("qmp_capabilities")

    def command(self, name, **arguments):
        # Names with a dash cannot be Python arguments.
        arguments = {key.replace("_", "-"): value for key, value in arguments.items()}
        self.socket.sendall(json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n")
        while True:
            message = self.next()
            if "error" in message:
                raise OSError(f"QEMU refuses {name}: {message['error']['desc']}")
            if "return" in message:
                return message["return"]
            self.events.append(message)

    def wait_for(self, event, device):
        """Waits for an event of a device, which may have arrived already."""
        while True:
            for message in self.events:
                if message["event"] == event and message["data"].get("device") == device:
                    self.events.remove(message)
                    return
            self.events.append(self.next())

    def next(self):
        line = self.lines.readline()
        if not line:
            raise OSError("QEMU has ended")
        return json.loads(line)

    def close(self):
        self.lines.close()
        self.socket.close()
