#!/usr/bin/env python3
"""Adds SameSite and Secure to cookies that have none: exec:./same-site.py Lax"""
import sys
import byway_addon

site = (sys.argv[1:] or ["Lax"])[0]


async def response(flow):
    cookies = flow.response.headers.get_all("set-cookie")
    flow.response.headers.pop("set-cookie")
    for cookie in cookies:
        names = {part.split("=")[0].strip().lower() for part in cookie.split(";")[1:]}
        if "samesite" not in names:
            cookie += f"; SameSite={site}"
        if "secure" not in names:
            cookie += "; Secure"
        flow.response.headers.add("set-cookie", cookie)


byway_addon.run(response=response)
