"""Checks files against the HTTP Archive format, version 1.2 (apt: python3-jsonschema).

    har_check.py FILE...

Prints what is wrong, one line each, and ends with 1; prints nothing where all is well. The schema is the specification's
tables of fields, http://www.softwareishard.com/blog/har-12-spec/: what is not optional there is required here, and only
names with an underscore in front may be added.
"""
import json
import sys

import jsonschema


def table(required, optional=()):
    """Returns the schema of an object with these fields and no others."""
    fields = {**required, **dict(optional), "comment": STRING}
    return {
        "type": "object", "required": list(required), "properties": fields, "patternProperties": {"^_": {}},
        "additionalProperties": False,
    }


def array(of):
    return {"type": "array", "items": of}


STRING = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
# -1: unknown or not applicable.
SIZE = {"type": "integer", "minimum": -1}
TIME = {"type": "number", "minimum": 0}
OPTIONAL_TIME = {"type": "number", "minimum": -1}
DATE = {
    "type": "string",
    "pattern": r"^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(\.\d+)?(Z|[+-][0-2]\d:[0-5]\d)$",
}
BASE64 = {"enum": ["base64"]}

NAME_AND_VERSION = table({"name": STRING, "version": STRING})
PAIR = table({"name": STRING, "value": STRING})
COOKIE = table(
    {"name": STRING, "value": STRING},
    {"path": STRING, "domain": STRING, "expires": DATE, "httpOnly": {"type": "boolean"}, "secure": {"type": "boolean"}})
PARAMETER = table({"name": STRING}, {"value": STRING, "fileName": STRING, "contentType": STRING})
# Text and parameters exclude each other; the unused one is empty.
POST_DATA = {
    **table({"mimeType": STRING, "params": array(PARAMETER), "text": STRING}),
    "anyOf": [{"properties": {"params": {"maxItems": 0}}}, {"properties": {"text": {"maxLength": 0}}}],
}
REQUEST = table(
    {
        "method": STRING, "url": {"type": "string", "pattern": "^[a-z][a-z0-9+.-]*://[^#]*$"}, "httpVersion": STRING,
        "cookies": array(COOKIE), "headers": array(PAIR), "queryString": array(PAIR), "headersSize": SIZE,
        "bodySize": SIZE,
    },
    {"postData": POST_DATA})
CONTENT = table(
    {"size": COUNT, "mimeType": STRING}, {"compression": {"type": "integer"}, "text": STRING, "encoding": BASE64})
RESPONSE = table({
    "status": {"type": "integer", "minimum": 0, "maximum": 999}, "statusText": STRING, "httpVersion": STRING,
    "cookies": array(COOKIE), "headers": array(PAIR), "content": CONTENT, "redirectURL": STRING, "headersSize": SIZE,
    "bodySize": SIZE,
})
CACHE_STATE = table({"lastAccess": DATE, "eTag": STRING, "hitCount": COUNT}, {"expires": DATE})
CACHED = {"anyOf": [{"type": "null"}, CACHE_STATE]}
CACHE = table({}, {"beforeRequest": CACHED, "afterRequest": CACHED})
TIMINGS = table(
    {"send": TIME, "wait": TIME, "receive": TIME},
    {"blocked": OPTIONAL_TIME, "dns": OPTIONAL_TIME, "connect": OPTIONAL_TIME, "ssl": OPTIONAL_TIME})
ENTRY = table(
    {
        "startedDateTime": DATE, "time": TIME, "request": REQUEST, "response": RESPONSE, "cache": CACHE,
        "timings": TIMINGS,
    },
    {"pageref": STRING, "serverIPAddress": STRING, "connection": STRING})
PAGE = table({
    "startedDateTime": DATE, "id": STRING, "title": STRING,
    "pageTimings": table({}, {"onContentLoad": OPTIONAL_TIME, "onLoad": OPTIONAL_TIME}),
})
LOG = table(
    {"version": {"const": "1.2"}, "creator": NAME_AND_VERSION, "entries": array(ENTRY)},
    {"browser": NAME_AND_VERSION, "pages": array(PAGE)})
HAR = {"type": "object", "required": ["log"], "properties": {"log": LOG}, "additionalProperties": False}


def problems(archive):
    errors = list(jsonschema.Draft7Validator(HAR).iter_errors(archive))
    if errors:
        return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in errors]
    return [f"log.entries.{index}: {wrong}" for index, entry in enumerate(archive["log"]["entries"])
            for wrong in wrong_times(entry)]


def wrong_times(entry):
    """The time must be the sum of its phases. A phase of -1 did not occur; ssl is part of connect."""
    phases = [value for name, value in entry["timings"].items() if name not in ("comment", "ssl") and value > 0]
    if abs(sum(phases) - entry["time"]) > 0.01:
        yield f"the time is {entry['time']}, and that of its phases {sum(phases)}"


found = False
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        for problem in problems(json.load(file)):
            found = True
            print(f"{path}: {problem}")
sys.exit(1 if found else 0)
