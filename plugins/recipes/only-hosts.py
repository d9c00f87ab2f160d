#!/usr/bin/env python3
"""Answers requests to all other hosts itself: exec:./only-hosts.py HOST…"""
import sys
import byway_addon

allowed = set(sys.argv[1:])


async def request(flow):
    host = (flow.request.authority or "").rsplit(":", 1)[0]
    if host not in allowed:
        flow.note(f"{host} is not allowed")
        flow.reply(403, {"content-type": "text/plain"}, f"{host} is not allowed here.\n")


byway_addon.run(request=request)
