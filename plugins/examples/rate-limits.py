#!/usr/bin/env python3
"""Limits the requests of each user: exec:./rate-limits.py FILE

A line of the file is `USER REQUESTS-PER-MINUTE BURST`; the user `*` is everyone else, each with a bucket of their own, `-` those without
a name. The user is the name of Basic authentication, which the server still checks. A changed file counts at once.
"""
import base64
import binascii
import collections
import os
import sys
import time
import byway_addon

MOST_USERS = 10_000
buckets = collections.OrderedDict()
limits, version = {}, None


def limit(user):
    """Returns the tokens of a user in a second, and the most that the bucket holds, or None if there is no limit."""
    global limits, version
    now = os.stat(sys.argv[1]).st_mtime_ns
    if now != version:
        lines = (line.split("#")[0].split() for line in open(sys.argv[1]))
        limits, version = {line[0]: (float(line[1]) / 60, float(line[2])) for line in lines if len(line) == 3}, now
    return limits.get(user) or limits.get("*")


def name(flow):
    scheme, _, value = flow.request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return "-"
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[0] or "-"
    except (binascii.Error, UnicodeDecodeError):
        return "-"


async def request(flow):
    user = name(flow)
    limit_of_user = limit(user)
    if limit_of_user is None:
        return
    rate, most = limit_of_user
    now = time.monotonic()
    tokens, before = buckets.pop(user, (most, now))
    tokens = min(most, tokens + (now - before) * rate)
    flow.allowed = tokens >= 1
    buckets[user] = (tokens - flow.allowed, now)
    if len(buckets) > MOST_USERS:
        buckets.popitem(last=False)
    if not flow.allowed:
        wait = int((1 - tokens) / rate) + 1 if rate else 3600
        flow.note(f"{user} has sent too many requests")
        flow.reply(429, {"retry-after": wait, "content-type": "text/plain"}, f"Wait {wait} seconds.\n")
    flow.remaining = int(buckets.get(user, (0, 0))[0])


async def response(flow):
    if hasattr(flow, "remaining"):
        flow.response.headers["x-ratelimit-remaining"] = str(flow.remaining)


byway_addon.run(request=request, response=response)
