"""Processes, ports and configurations of the benchmarks."""
import argparse
import os
import pathlib
import socket
import subprocess
import time

MEBIBYTE = 1 << 20


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


class Programs:
    """The programs of a benchmark, in the background until the stack `running` ends."""

    def __init__(self, folder, running):
        self.folder, self.running = folder, running
        folder.chmod(0o755)
        self.files = folder / "files"
        self.files.mkdir(0o755)

    def start(self, command, port=None):
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.running.callback(stop, process)
        if port:
            wait_for(port, process)
        return process

    def start_nginx(self, http, port):
        """Starts nginx with that content of its block `http`, and waits for the port."""
        folder = self.folder
        (folder / "nginx.conf").write_text(f"""
          user root;
          worker_processes 1;
          pid {folder}/nginx.pid;
          error_log stderr crit;
          events {{ worker_connections 256; }}
          http {{
            access_log off;
            {temporary_paths(folder)}
            {http}
          }}""")
        self.start(["/usr/sbin/nginx", "-c", folder / "nginx.conf", "-p", folder, "-e", "stderr", "-g", "daemon off;"], port)


def transfer_parser(description, size):
    """Returns a parser for the options of a benchmark of transfers, with the default size of the file in MiB."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument("--size", type=int, default=size, help=f"of the file in MiB (default: {size})")
    parser.add_argument("--rounds", type=int, default=3)
    return parser


def temporary_paths(folder):
    """Returns the lines of nginx.conf that keep its temporary files in a folder."""
    return "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])


def make_certificate(folder):
    """Makes a certificate of its own for localhost: cert.pem and key.pem."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True, timeout=30)
    os.chmod(folder / "key.pem", 0o600)


def configure_sshd(folder, port, more=""):
    """Writes the configuration of an sshd with the keys `host` and `user` of the folder. Returns its path."""
    path = folder / "sshd_config"
    path.write_text(f"""
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
{more}
""")
    if os.getuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    return path
