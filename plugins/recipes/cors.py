#!/usr/bin/env python3
"""Lets pages of another origin use an API: exec:./cors.py https://app.example"""
import sys
import byway_addon

allowed = set(sys.argv[1:])


async def request(flow):
    headers = flow.request.headers
    if flow.request.method == "OPTIONS" and "access-control-request-method" in headers and headers.get("origin") in allowed:
        flow.reply(204, {
            "access-control-allow-methods": headers["access-control-request-method"],
            "access-control-allow-headers": headers.get("access-control-request-headers", ""), "access-control-max-age": "600"})


async def response(flow):
    flow.response.headers.add("vary", "origin")
    origin = flow.request.headers.get("origin")
    if origin in allowed:
        flow.response.headers["access-control-allow-origin"] = origin


byway_addon.run(request=request, response=response)
