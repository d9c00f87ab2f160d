#!/usr/bin/env python3
"""Writes each JSON response as a line of a file: exec:./save-json.py FILE [HOST]"""
import json
import sys
import byway_addon

file = open(sys.argv[1], "a", encoding="utf-8", buffering=1)
host = (sys.argv[2:] or [None])[0]


async def request(flow):
    flow.request.headers.pop("accept-encoding")


async def response(flow):
    kind = flow.response.headers.get("content-type", "").split(";")[0]
    if kind != "application/json" or host not in (None, flow.request.authority):
        return
    content = flow.response.body = await flow.response.body.read()
    try:
        print(json.dumps({"path": flow.request.path, "status": flow.response.status, "json": json.loads(content)}), file=file)
    except ValueError:
        flow.note("this is no JSON")


byway_addon.run(request=request, response=response)
