#!/usr/bin/env python3
"""The HTTP cache of byway proxy next to nginx, Apache, Varnish and Squid, compared by the tests of https://cache-tests.fyi.

    git clone https://github.com/http-tests/cache-tests.git
    python3 Benchmarks/cachetests.py --byway .build/release/byway cache-tests

The suite has its own origin and client, which need node 18 or newer. The test of informational responses
needs the npm package undici, and fails for every cache without it. Caches that are not installed are left out. Everything but the suite's origin listens on
loopback only.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from processes import free_port, stop, temporary_paths

# Prints "KIND RESULT ID" for each test that is for a cache between a client and an origin.
JUDGE = """
import fs from 'node:fs'
const [suite, file] = process.argv.slice(1)
const tests = (await import(`${suite}/tests/index.mjs`)).default
const { determineTestResult, resultTypes } = await import(`${suite}/test-engine/lib/results.mjs`)
const results = JSON.parse(fs.readFileSync(file))
for (const group of tests) for (const test of group.tests) {
  if (test.browser_only || test.cdn_only) continue
  const result = determineTestResult(tests, test.id, results)
  const name = Object.keys(resultTypes).find((key) => resultTypes[key] === result)
  console.log(test.kind ?? 'required', name, test.id)
}
"""
KINDS = ["required", "optimal", "check"]
PASSED = {"pass", "yes"}


def main():
    options = parse()
    with contextlib.ExitStack() as running:
        folder = pathlib.Path(running.enter_context(tempfile.TemporaryDirectory(prefix="bw-", dir="/tmp")))
        folder.chmod(0o755)
        origin = free_port()
        start(running, ["node", "--no-warnings", "test-engine/server/server.mjs"], origin, cwd=options.suite, env=environment(
            npm_config_protocol="http", npm_config_port=str(origin), npm_config_pidfile=str(folder / "server.pid")))
        rows = {}
        for name, (cache, *programs) in CACHES.items():
            if name not in options.only or (name == "byway" and not options.byway):
                continue
            place = folder / name
            place.mkdir()
            if name != "byway" and os.geteuid() == 0:
                # The servers drop root's rights, and must still be able to write here.
                place.chmod(0o777)
            with contextlib.ExitStack() as its:
                program = find(*programs) if programs else str(pathlib.Path(options.byway).resolve())
                if not program:
                    print(f"{name} is not installed", file=sys.stderr)
                    continue
                port = free_port()
                cache(its, place, origin, program, port)
                rows[name] = judge(options.suite, place, port, name in options.failures)
    print(json.dumps(rows, indent=2) if options.json else table(rows))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=pathlib.Path, help="a checkout of the tests")
    parser.add_argument("--byway", metavar="PATH", help="the command; without it the rivals run alone")
    parser.add_argument("--only", nargs="+", choices=CACHES, default=list(CACHES), help="these caches")
    parser.add_argument("--failures", nargs="+", choices=CACHES, default=[], help="lists the required tests that these fail")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.suite = options.suite.resolve()
    if not (options.suite / "test-engine/cli.mjs").exists():
        parser.error(f"{options.suite} is not a checkout of http-tests/cache-tests")
    return options


# MARK: caches


def byway(running, place, origin, command, port):
    gateway = ["gateway", "--link", f"unix:{place}/link", "--origin", f"http://127.0.0.1:{origin}"]
    start(running, [command, *gateway, "--log-level", "warning"], place / "link")
    start(running, [
        command, "proxy", "--link", f"unix:{place}/link", "--listen", f"127.0.0.1:{port}", "--cache", str(place / "cache"), "--log-level", "warning"], port)


def nginx(running, place, origin, program, port):
    (place / "nginx.conf").write_text(f"""
        daemon off; pid {place}/pid; error_log {place}/error.log; worker_processes 1;
        events {{ worker_connections 2048; }}
        http {{
          access_log off; {temporary_paths(place)}
          proxy_cache_path {place}/cache levels=1:2 keys_zone=cache:8m max_size=1000m inactive=600m;
          server {{
            listen 127.0.0.1:{port};
            location / {{
              proxy_pass http://127.0.0.1:{origin}; proxy_cache cache; proxy_cache_revalidate on; proxy_http_version 1.1;
            }}
          }}
        }}""")
    start(running, [program, "-c", str(place / "nginx.conf"), "-e", str(place / "error.log")], port)


def apache(running, place, origin, program, port):
    modules = pathlib.Path("/usr/lib/apache2/modules")
    names = ["mpm_event", "authz_core", "proxy", "proxy_http", "cache", "cache_disk", "negotiation"]
    load = "\n".join(f"LoadModule {name}_module {modules}/mod_{name}.so" for name in names)
    (place / "cache").mkdir()
    (place / "cache").chmod(0o777)
    user = "User www-data\nGroup www-data" if os.geteuid() == 0 else ""
    (place / "httpd.conf").write_text(f"""
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {place}/pid
DefaultRuntimeDir {place}
Mutex sem
ErrorLog {place}/error.log
ThreadsPerChild 50
MaxRequestWorkers 600
ServerLimit 12
{load}
{user}
ProxyPass "/" "http://127.0.0.1:{origin}/"
CacheEnable disk /
CacheRoot {place}/cache
CacheDirLevels 5
CacheDirLength 3
CacheDefaultExpire 0
CacheIgnoreNoLastMod On
CacheStoreExpired On
CacheNegotiatedDocs On
UseCanonicalName On
CacheHeader On
CacheDetailHeader On
""")
    start(running, [program, "-f", str(place / "httpd.conf"), "-DFOREGROUND"], port)


def varnish(running, place, origin, program, port):
    start(running, [
        program, "-F", "-j", "none", "-n", str(place), "-a", f"127.0.0.1:{port}", "-b", f"127.0.0.1:{origin}", "-p", "default_ttl=0",
        "-p", "default_grace=0", "-p", "default_keep=3600", "-s", "malloc,64M"], port)


def squid(running, place, origin, program, port):
    (place / "squid.conf").write_text(f"""
http_port 127.0.0.1:{port} accel defaultsite=localhost no-vhost
cache_peer 127.0.0.1 parent {origin} 0 no-query no-digest originserver default name=origin
cache_peer_access origin allow all
http_access allow all
cache_mem 64 MB
shutdown_lifetime 1 second
connect_retries 3
pid_filename {place}/pid
cache_log {place}/cache.log
access_log none
coredump_dir {place}
visible_hostname localhost
""")
    start(running, [program, "-N", "-f", str(place / "squid.conf")], port)


# Each cache with the names of its program.
CACHES = {
    "byway": (byway,), "apache": (apache, "apache2", "httpd"), "varnish": (varnish, "varnishd"), "squid": (squid, "squid"),
    "nginx": (nginx, "nginx")}


# MARK: the suite


def judge(suite, place, port, lists):
    """Runs all tests against a cache, and counts by kind how many there are and how many it passes."""
    results = place / "results.json"
    with results.open("w") as file:
        subprocess.run(
            ["node", "--no-warnings", "test-engine/cli.mjs"], cwd=suite, stdout=file, check=True, timeout=600,
            env=environment(npm_config_base=f"http://127.0.0.1:{port}", npm_config_id="", npm_package_config_id=""))
    # The tests also write to the standard output, before the results.
    text = results.read_text()
    results.write_text(text[text.index("{\n"):])
    words = subprocess.run(
        ["node", "--input-type=module", "-e", JUDGE, str(suite), str(results)], check=True, capture_output=True, text=True, timeout=60)
    counts = collections.Counter()
    for line in words.stdout.splitlines():
        kind, result, test = line.split()
        counts[kind, result in PASSED] += 1
        if lists and kind == "required" and result not in PASSED:
            print(f"{test}: {result}", file=sys.stderr)
    return {kind: {"passed": counts[kind, True], "of": counts[kind, True] + counts[kind, False]} for kind in KINDS}


def table(rows):
    lines = ["| | required | optimal | informative |", "|---|---|---|---|"]
    for name, row in rows.items():
        cells = [f"{row[kind]['passed']} of {row[kind]['of']}" for kind in KINDS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


# MARK: processes


def environment(**more):
    return {**os.environ, **more}


def find(*names):
    """Returns the path of a server. Servers are in sbin, which may be missing from the path of a user."""
    return next(filter(None, (shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin") for name in names)), None)


def start(running, command, place, **options):
    """Starts a server, which ends with this script, and waits until it accepts connections at a port or a path."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, **options)
    running.callback(stop, process)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        family, address = (socket.AF_INET, ("127.0.0.1", place)) if isinstance(place, int) else (socket.AF_UNIX, str(place))
        with socket.socket(family) as client, contextlib.suppress(OSError):
            client.connect(address)
            return
        time.sleep(0.05)
    raise SystemExit(f"{command[0]} did not start")


if __name__ == "__main__":
    main()
