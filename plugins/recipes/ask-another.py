#!/usr/bin/env python3
"""Asks another server about each request, and adds its answer: exec:./ask-another.py http://127.0.0.1:9000/where"""
import json
import sys
import byway_addon

url = sys.argv[1]


async def request(flow):
    question = json.dumps({"host": flow.request.authority, "path": flow.request.path})
    try:
        answer = await flow.send(url, "POST", {"content-type": "application/json"}, question, timeout=5)
        flow.request.headers["x-answer"] = json.loads(await answer.body.read(10_000))["answer"]
    except (OSError, ValueError, KeyError) as error:
        flow.note(f"{url}: {error!r}")
        flow.reply(503, body="Try again later.\n")


byway_addon.run(request=request)
