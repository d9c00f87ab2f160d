#!/usr/bin/env python3
"""Shows the numbers in a device's JSON to Prometheus, at /metrics: exec:./exporter.py /status.json [NAME]

`{"temp": {"cpu": 41.5}, "ports": [{"up": true}]}` becomes `NAME_temp_cpu 41.5` and `NAME_ports_up{index="0"} 1`.
"""
import asyncio
import json
import re
import sys
import time
import byway_addon

path = sys.argv[1]
base = (sys.argv[2:] or ["device"])[0]
LIMIT, SAMPLES = 1_000_000, 2000


def samples(value, name, labels=()):
    """Yields the name, the labels and the number of each number in a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from samples(inner, f"{name}_{key}", labels)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            label = "index" if not labels else f"index{len(labels) + 1}"
            yield from samples(inner, name, (*labels, f'{label}="{index}"'))
    elif isinstance(value, (bool, int, float)):
        yield re.sub(r"[^a-zA-Z0-9_:]", "_", name), ",".join(labels), float(value)


def text(document, seconds):
    found = sorted(list(samples(document, base))[:SAMPLES])
    found += [(f"{base}_up", "", float(document is not None)), (f"{base}_request_seconds", "", seconds)]
    lines, before, written = [], None, set()
    for name, labels, number in found:
        if (name, labels) in written:
            # Two keys can give the same name. Prometheus takes each line once.
            continue
        written.add((name, labels))
        if name != before:
            lines.append(f"# TYPE {name} gauge")
            before = name
        lines.append(f"{name}{{{labels}}} {number:g}" if labels else f"{name} {number:g}")
    return "\n".join(lines) + "\n"


async def request(flow):
    if flow.request.path.partition("?")[0] != "/metrics":
        return
    start, document = time.monotonic(), None
    try:
        answer = await flow.send(path, headers={"accept": "application/json"}, timeout=5)
        if answer.status == 200:
            document = json.loads(await answer.body.read(LIMIT))
        else:
            flow.note(f"{path} answered {answer.status}")
    except (OSError, ValueError, RecursionError, asyncio.TimeoutError) as error:
        flow.note(f"{path}: {error!r}")
    fields = {"content-type": "text/plain; version=0.0.4; charset=utf-8"}
    flow.reply(200, fields, text(document, time.monotonic() - start))


byway_addon.run(request=request)
