#!/usr/bin/env python3
"""Adds random faults, to test a client: exec:./faults.py SEED slow=0.1 error=0.1 cut=0.05 hang=0.01

Each number is the share of requests with this fault. The same seed gives the same faults for the same order of requests.
"""
import asyncio
import random
import sys
import byway_addon

KINDS = ("slow", "error", "cut", "hang")
generator = random.Random(sys.argv[1])
shares = {kind: float(share) for kind, share in (argument.split("=") for argument in sys.argv[2:])}
if not shares.keys() <= set(KINDS) or sum(shares.values()) > 1:
    sys.exit(f"The faults are {', '.join(KINDS)}, and their shares are 1 together at most.")


def choose():
    number = generator.random()
    for kind in KINDS:
        number -= shares.get(kind, 0)
        if number < 0:
            return kind
    return None


async def request(flow):
    flow.fault = choose()
    if flow.fault:
        flow.note(f"fault: {flow.fault}")
    if flow.fault == "slow":
        await asyncio.sleep(generator.uniform(0.5, 3))
    elif flow.fault == "error":
        flow.reply(generator.choice((500, 502, 503, 504)), {"x-fault": "error"}, "This is a fault on purpose.\n")
    elif flow.fault == "hang":
        # Ends when the client leaves, or with the time of the plugin.
        await asyncio.sleep(3600)


async def response(flow):
    if flow.fault == "cut" and not flow.response.is_empty:
        flow.response.body = cut(flow.response.body)


async def cut(body):
    async for chunk in body:
        yield chunk[:len(chunk) // 2]
        raise ConnectionError("this is a fault on purpose")


byway_addon.run(request=request, response=response)
