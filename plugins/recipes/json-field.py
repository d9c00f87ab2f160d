#!/usr/bin/env python3
"""Sets a field of JSON responses: exec:./json-field.py NAME JSON-VALUE"""
import json
import sys
import byway_addon

name, value = sys.argv[1], json.loads(sys.argv[2])


async def request(flow):
    flow.request.headers.pop("accept-encoding")


async def response(flow):
    if flow.response.headers.get("content-type", "").split(";")[0] != "application/json":
        return
    content = await flow.response.body.read()
    document = json.loads(content)
    if isinstance(document, dict) and name in document:
        document[name] = value
        content = json.dumps(document)
    flow.response.body = content


byway_addon.run(request=request, response=response)
