#!/usr/bin/env python3
"""Lets bodies pass as over a slow line: exec:./slow-network.py BYTES-PER-SECOND [MILLISECONDS]"""
import asyncio
import sys
import byway_addon

rate = int(sys.argv[1])
delay = int((sys.argv[2:] or ["0"])[0]) / 1000


async def request(flow):
    await asyncio.sleep(delay)
    flow.request.body = slowly(flow.request.body) if not flow.request.is_empty else flow.request.body


async def response(flow):
    flow.response.body = slowly(flow.response.body) if not flow.response.is_empty else flow.response.body


async def slowly(body):
    step = max(1, rate // 20)
    async for chunk in body:
        for start in range(0, len(chunk), step):
            part = chunk[start:start + step]
            await asyncio.sleep(len(part) / rate)
            yield part


byway_addon.run(request=request, response=response)
