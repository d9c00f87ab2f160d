#!/usr/bin/env python3
"""Lets each token send COUNT requests in SECONDS, on one connection or many: exec:./rate-per-token.py COUNT SECONDS"""
import collections
import sys
import time
import byway_addon

count, seconds = int(sys.argv[1]), float(sys.argv[2])
times = collections.OrderedDict()


async def request(flow):
    token, now = flow.request.headers.get("authorization", ""), time.monotonic()
    recent = [moment for moment in times.pop(token, []) if now - moment < seconds]
    if len(recent) < count:
        recent.append(now)
    else:
        wait = int(recent[0] + seconds - now) + 1
        flow.reply(429, {"retry-after": wait}, f"Wait {wait} seconds.\n")
    times[token] = recent
    if len(times) > 10_000:
        times.popitem(last=False)


byway_addon.run(request=request)
