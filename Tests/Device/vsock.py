"""Links over vsock within one machine: its kernel loops them back."""
from doctor import finds
from report import expect

LINK = "vsock:local:7000"


def answers(shell, page):
    text = shell.run(f"byway request --link {LINK} http://localhost/", 20)
    expect(page.decode().strip() in text, f"no page, but {text}")


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
