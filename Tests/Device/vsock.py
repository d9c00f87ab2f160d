"""Links over vsock within one machine: its kernel loops them back."""
import hashlib

from doctor import finds
from report import expect

LINK = "vsock:local:7000"


def answers(shell, page):
    text = shell.run(f"byway request --link {LINK} http://localhost/", 20)
    expect(page.decode().strip() in text, f"no page, but {text}")


def carries(shell, random):
    """Checks a large download, and that 20 requests at a time are all answered."""
    digest = hashlib.sha256(random).hexdigest()
    command = f"byway request --link {LINK} http://localhost/random"
    text = shell.run(f"{command} | sha256sum", 30)
    expect(digest in text, f"the file has another digest: {text}")
    # A bare wait would also wait for the gateway, which the same shell has started.
    jobs = f"jobs=; for i in $(seq 20); do ({command} | sha256sum >>/tmp/vsock.sums) & jobs=\"$jobs $!\"; done; wait $jobs"
    shell.run(f"rm -f /tmp/vsock.sums; {jobs}", 60)
    count = shell.run(f"grep -c {digest} /tmp/vsock.sums").strip()
    expect(count == "20", f"{count} of 20 files are complete")


def finds_faults(shell):
    finds(shell, "vsock:local:7001", "nobody-listens")
    finds(shell, "vsock:99:7000", "no-route")


def is_refused(shell):
    text = shell.run(f"byway gateway --link {LINK} --origin http://127.0.0.1:80", 20, check=False)
    expect("is already in use" in text, f"a second gateway says: {text}")


def notices_death(shell, gateway):
    """Checks that a request fails soon after its gateway was killed, and that the next gateway answers."""
    gateway.end("KILL")
    text = shell.run(f"byway request --link {LINK} http://localhost/", 20, check=False)
    expect("Nothing listens on" in text, f"without a gateway it says: {text}")
    gateway.start()
    expect("device" in shell.run(f"byway request --link {LINK} http://localhost/", 20), "no page from the next gateway")
