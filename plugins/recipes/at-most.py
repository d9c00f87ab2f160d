#!/usr/bin/env python3
"""Lets the server have COUNT requests at once. Others wait, and at most QUEUE of them: exec:./at-most.py COUNT QUEUE"""
import asyncio
import sys
import byway_addon

count, queue = map(int, sys.argv[1:3])
slots, waiting = [], 0


async def request(flow):
    global waiting
    if not slots:
        slots.append(asyncio.Semaphore(count))
    if slots[0].locked() and waiting >= queue:
        flow.reply(503, {"retry-after": 1}, "Too many requests wait already.\n")
        return
    waiting += 1
    try:
        await slots[0].acquire()
    finally:
        waiting -= 1
    try:
        answer = await flow.send(flow.request.path, flow.request.method, flow.request.headers.items, flow.request.body)
        flow.reply(answer.status, answer.headers.items, await answer.body.read())
    finally:
        slots[0].release()


byway_addon.run(request=request)
