#!/usr/bin/env python3
"""Gets a new token when the server answers 401, and sends a GET again: exec:./login-on-401.py /login PASSWORD-FILE"""
import json
import sys
import byway_addon

login, password = sys.argv[1], open(sys.argv[2]).read().strip()
token = None


async def request(flow):
    if token:
        flow.request.headers["authorization"] = f"Bearer {token}"


async def response(flow):
    global token
    if flow.response.status != 401 or flow.request.method != "GET":
        return
    answer = await flow.send(login, "POST", {"content-type": "application/json"}, json.dumps({"password": password}))
    if answer.status == 200:
        token = json.loads(await answer.body.read(10_000))["token"]
        await request(flow)
        flow.response = await flow.send(flow.request.path, headers=flow.request.headers.items)


byway_addon.run(request=request, response=response)
