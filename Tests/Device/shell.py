"""A shell in the device, on its own serial port."""
import itertools
import re
import socket
import time


class Shell:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.numbers = itertools.count(1)

    def wait_until_ready(self, seconds):
        """Waits for the shell: input before it is ready would be lost in part."""
        self.read_until(re.compile("ready()\n"), time.monotonic() + seconds, "booting")

    def run(self, command, seconds=10, check=True):
        """Returns a command's output, including errors.

        Raises: `OSError` if it fails, unless `check` is false, `TimeoutError` if it takes too long.
        """
        mark = f"<{next(self.numbers)} ended"
        # The shell does not wait for background processes, and the command cannot read the shell's next input.
        self.socket.sendall(f"{{ {command}\n}} </dev/null 2>&1; echo '{mark}' $?'>'\n".encode())
        output, status = self.read_until(re.compile(rf"{mark} (\d+)>\n"), time.monotonic() + seconds, command)
        if check and status != "0":
            raise OSError(f"in the device, {command} ends with status {status}: {output.strip()}")
        return output

    def read_until(self, end, deadline, command):
        text = ""
        while True:
            self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                data = self.socket.recv(4096)
            except TimeoutError:
                raise TimeoutError(f"in the device, {command} has not ended: {text.strip()[-1000:]}") from None
            if not data:
                raise OSError("the device has ended")
            text += data.decode(errors="replace")
            match = end.search(text)
            if match:
                return text[:match.start()], match[1]

    def close(self):
        self.socket.close()
