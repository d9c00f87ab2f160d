#!/usr/bin/env python3
"""The goodput of Byway on an emulated serial line: the table of the line layer's targets, and a plot.

    python3 Benchmarks/serial.py --byway .build/release/byway --plot docs/goodput.svg

Everything is end to end: an HTTP client, `byway proxy`, the line, `byway gateway`, nginx. Every body is verified. Goodput
is body bytes by time by line rate. Each figure is one run for each seed; medians are shown.
"""
import argparse
import http.client
import os
import statistics
import threading
import time

import goodputplot
from linerig import Rig, dropping, flipping

TARGETS = {0: 0.98, 1e-6: 0.97, 1e-5: 0.938, 1e-4: 0.9, 3e-4: 0.87, 1e-3: 0.82, 3e-3: 0.7}
FAST, SLOW = 921_600, 115_200


def main():
    options = parse()
    rows, options.points = [], {}
    for part in PARTS:
        if options.only and part.__name__ not in options.only:
            continue
        for row in part(options):
            rows.append(row)
            show(rows)
    print("\n| measure | target | measured |\n|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    if options.plot and options.points:
        with open(options.plot, "w") as file:
            file.write(goodputplot.svg(options.points))


VARIANTS = [
    ("a tty that queues 20 KiB", ["--queue", "20480"], 1),
    ("read every 16 ms", ["--batch", "16ms"], 1),
    ("clocks 2 % slow", ["--clock", "-2%"], 0.98),
    ("clocks 2 % fast", ["--clock", "2%"], 1.02),
]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each error rate (default: 3)")
    parser.add_argument("--only", nargs="*", default=[], choices=[part.__name__ for part in PARTS],
                        help="these parts instead of all")
    parser.add_argument("--plot", metavar="FILE", help="where to write goodput over bit error rate, as SVG")
    return parser.parse_args()


def show(rows):
    print(f"{rows[-1][0]}: {rows[-1][2]} {rows[-1][1]}", flush=True)


def warmed(rig):
    for _ in range(5):
        rig.get()
    time.sleep(0.5)
    return rig


def goodput(options, errors, seed, line=(), scale=1):
    line = [*line, "--bit-errors", f"{errors:.9f}"] if errors else line
    with Rig(options.byway, FAST, line, seed) as rig:
        seconds = warmed(rig).get("large")
        return (1 << 20) / seconds / (rig.rate * scale)


def error_rates(options):
    for rate in TARGETS:
        share = statistics.median(goodput(options, rate, seed) for seed in range(1, options.seeds + 1))
        options.points[rate] = share
        yield f"goodput at {FAST}, bit error rate {rate:g}", f"≥ {TARGETS[rate]}", f"{share:.3f}"


def variants(options):
    for name, line, scale in VARIANTS:
        yield f"goodput at {FAST}, {name}", "", f"{goodput(options, 0, 1, line, scale):.3f}"


def latencies(options):
    clean = yield from latencies_at(options, "", [], None, ("≤ 30 ms", "≤ 60 ms"))
    yield from latencies_at(options, ", bit error rate 0.001", ["--bit-errors", "0.001"], clean, ("≤ 30 ms", "≤ 80 ms"))


def latencies_at(options, condition, line, clean, targets):
    """Measures small GETs on an idle line, relative to `clean` if that is given, and during a download. Returns median and p99 when idle."""
    with Rig(options.byway, SLOW, line) as rig:
        warmed(rig)
        connection = rig.connection()
        rig.get(connection=connection)
        before, count = rig.carried(), 200
        idle = []
        for _ in range(count):
            idle.append(rig.get(connection=connection))
            time.sleep(0.05)
        own = (sum(rig.carried()) - sum(before)) / count / rig.rate
        rest, worst = share_of(idle, 0.5), share_of(idle, 0.99)
        if clean:
            for name, value, by, target in zip(("median", "p99"), (rest, worst), clean, ("≤ 1.5", "≤ 3")):
                yield (f"small GET on an idle line{condition}, {name}, relative to a clean line", target,
                       f"{value / by:.2f} ({value * 1e3:.1f} ms)")
        else:
            yield ("small GET on an idle line, relative to the time of its own bytes", "≤ 1.3",
                   f"{rest / own:.2f} ({rest * 1e3:.1f} ms for {own * rig.rate:.0f} bytes)")
        busy = []
        bulk = threading.Thread(target=rig.get, args=("large",))
        bulk.start()
        time.sleep(2)
        while bulk.is_alive():
            busy.append(rig.get(connection=connection))
            time.sleep(0.1)
        busy.pop()
        for name, share, target in zip(("median", "p99"), (0.5, 0.99), targets):
            extra = (share_of(busy, share) - rest) * 1e3
            yield f"small GET while 1 MiB downloads{condition}, {name} beyond idle", target, f"{extra:.1f} ms"
    return rest, worst


def share_of(values, share):
    return sorted(values)[int(len(values) * share)]


def pulled_cable(options):
    with Rig(options.byway, SLOW * 2) as rig:
        warmed(rig)
        requests = [threading.Thread(target=rig.get, args=("medium",)) for _ in range(20)]
        for request in requests:
            request.start()
        time.sleep(0.5)
        rig.order("cut lose")
        time.sleep(5)
        running = sum(request.is_alive() for request in requests)
        rig.order("restore")
        begun = time.monotonic()
        for request in requests:
            request.join()
        yield ("cable pulled for 5 s in the middle of 20 requests of 8 KiB", "all complete",
               f"all; {running} ran then, and were done {time.monotonic() - begun:.1f} s after it was back")


def bad_lines(options):
    for name, line in (("1 % of bytes dropped", ["--drop", "1%"]),
                       ("Gilbert-Elliott bursts", ["--bursts", "50/10000@0.1"]),
                       ("a log line every second", ["--log-line-every", "1s"])):
        share = statistics.median(goodput(options, 0, seed, line) for seed in range(1, options.seeds + 1))
        yield f"1 MiB at {FAST}, {name}", "complete, exact", f"goodput {share:.3f}"


def noise_that_comes_and_goes(options):
    """Measures a line whose noise changes every two seconds, relative to the two lines alone."""
    size, rate = 3 << 20, 0.001
    alone = [statistics.median(goodput(options, errors, seed) for seed in range(1, 3)) for errors in (0, rate)]
    shares = []
    for seed in range(1, options.seeds + 1):
        noisy = flipping(rate, seed)
        with Rig(options.byway, FAST, files={"body": os.urandom(size)}, relays=True) as rig:
            warmed(rig)
            begun = time.monotonic()
            rig.relay.noise = lambda data: noisy(data) if int((time.monotonic() - begun) / 2) % 2 else data
            shares.append(size / rig.get("body") / rig.rate)
    share = statistics.median(shares)
    yield (f"3 MiB at {FAST}, bit error rate alternating between 0 and {rate} every 2 s, relative to the mean of the two alone", "≥ 0.85",
           f"{share / statistics.mean(alone):.2f} ({share:.3f})")


def idle(options):
    with Rig(options.byway, SLOW) as rig:
        warmed(rig)
        time.sleep(2)
        before = rig.carried()
        time.sleep(40)
        each = [(after - start) / 4 for start, after in zip(before, rig.carried())]
        yield "bytes on an idle line in 10 s, each way", "≤ 30", " and ".join(f"{count:.0f}" for count in each)


def processor(options):
    for condition, line, target in (("", [], "< 10 %"), (", bit error rate 0.001", ["--bit-errors", "0.001"], "< 15 %")):
        with Rig(options.byway, 3_000_000, line) as rig:
            warmed(rig)
            before, begun = rig.busy(), time.monotonic()
            for _ in range(4):
                rig.get("large")
            share = (rig.busy() - before) / (time.monotonic() - begun)
            yield f"both processes at 3,000,000 baud{condition}, share of one core", target, f"{share * 100:.1f} %"


# Noise during the start of sessions, or from the middle of a body on. Each byte is damaged with this probability.
NOISES = [("1 % of bytes dropped", ["--drop", "1%"], 0.01, lambda seed: dropping(0.01, seed)),
          ("bit error rate 0.001", ["--bit-errors", "0.001"], 1 - 0.999 ** 8, lambda seed: flipping(0.001, seed))]
PAGE = 65_536


def best(chance, overhead=9):
    """Returns the goodput of frames of the best size as a share of the line. The delimiter before a frame must arrive as well."""
    return max(size / (size + overhead) * (1 - chance) ** (size + overhead + 1) for size in range(1, 2048))


def cold_start(options):
    for count, targets in ((1, ("≤ 3 s", "≤ 3 s")), (6, ("≤ 15 s", ""))):
        for (name, line, chance, _), target in zip(NOISES, targets):
            seconds = statistics.median(begun_cold(options, line, seed, count) for seed in range(1, 6))
            least = count * PAGE / (FAST / 10) / best(chance)
            what = "64 KiB" if count == 1 else f"{count} × 64 KiB at once"
            yield f"{what} at {FAST}, {name} from the first on", target, f"{seconds:.2f} s, the limit is {least:.2f} s"


def begun_cold(options, line, seed, count):
    with Rig(options.byway, FAST, line, seed, files={"page": os.urandom(PAGE)}) as rig:
        done = []
        requests = [threading.Thread(target=lambda: done.append(rig.get("page"))) for _ in range(count)]
        for request in requests:
            request.start()
        for request in requests:
            request.join()
        return max(done) if len(done) == count else float("inf")


def noise_in_the_middle(options):
    for name, _, _, noise in NOISES:
        late, early = (statistics.median(noisy_rate(options, noise, seed, before) for seed in range(1, 6))
                       for before in (2 * PAGE, 0))
        yield (f"384 KiB at {FAST}, {name}, once it begins after 128 KiB, by the same from the start", "≥ 0.7",
               f"{late / early:.2f} ({late / 1024:.1f} and {early / 1024:.1f} KiB/s)")


def noisy_rate(options, noise, seed, before):
    """Returns the bytes of a body per second after the noise begins."""
    with Rig(options.byway, FAST, files={"body": os.urandom(before + 6 * PAGE)}, relays=True) as rig:
        if not before:
            rig.relay.noise = noise(seed)
        connection = http.client.HTTPConnection("127.0.0.1", rig.port, timeout=120)
        begun = time.monotonic()
        connection.request("GET", "/body")
        response = connection.getresponse()
        received = len(response.read(before)) if before else 0
        if before:
            rig.relay.noise = noise(seed)
            begun = time.monotonic()
        received += len(response.read())
        return (received - before) / (time.monotonic() - begun)


PARTS = [error_rates, variants, latencies, pulled_cable, bad_lines, cold_start, noise_in_the_middle, noise_that_comes_and_goes, idle, processor]

if __name__ == "__main__":
    os.environ.setdefault("SWIFT_BACKTRACE", "enable=no")
    main()
