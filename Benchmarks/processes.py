"""Processes and ports of the benchmarks."""
import os
import pathlib
import socket
import subprocess
import time


def processor_time(process_id):
    """Returns the processor time of a process so far, in seconds."""
    fields = pathlib.Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process):
    """Waits until the process listens on the port."""
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{process.args} does not listen on {port}")
            time.sleep(0.05)


def stop(process, limit=10):
    """Ends a process, and kills it after that many seconds."""
    process.terminate()
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
