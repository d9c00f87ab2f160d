"""A gRPC service and its client, both of grpcio; bytes for messages, so that no compiler is needed.

    grpc_peer.py serve                 prints "ready PORT"
    grpc_peer.py call HOST:PORT        prints one JSON object
"""
import json
import queue
import sys
from concurrent import futures

import grpc

SERVICE = "byway.test.Echo"


def unary(request, context):
    if request == b"fail":
        context.set_trailing_metadata((("why", "asked-for"),))
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not now: 100%")
    context.set_trailing_metadata((("x-length", str(len(request))),))
    return request


def count(request, context):
    for number in range(int(request)):
        yield str(number).encode()


def total(requests, context):
    return str(sum(len(request) for request in requests)).encode()


def echo(requests, context):
    for request in requests:
        yield request


def serve():
    server = grpc.server(futures.ThreadPoolExecutor(16))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {
        "Unary": grpc.unary_unary_rpc_method_handler(unary),
        "Count": grpc.unary_stream_rpc_method_handler(count),
        "Total": grpc.stream_unary_rpc_method_handler(total),
        "Echo": grpc.stream_stream_rpc_method_handler(echo),
    }),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"ready {port}", flush=True)
    server.wait_for_termination()


def call(address):
    answer = {}
    with grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)]) as channel:
        name = f"/{SERVICE}/"
        wait = {"timeout": 30, "wait_for_ready": True}
        reply, details = channel.unary_unary(name + "Unary").with_call(b"x" * 100_000, **wait)
        answer["unary"] = len(reply)
        answer["trailers"] = dict(details.trailing_metadata())
        answer["code"] = details.code().name
        answer["count"] = len(list(channel.unary_stream(name + "Count")(b"1000", **wait)))
        answer["total"] = int(channel.stream_unary(name + "Total")((b"y" * 1000 for _ in range(1000)), **wait))
        answer["rounds"] = rounds(channel.stream_stream(name + "Echo"), wait)
        try:
            channel.unary_unary(name + "Unary")(b"fail", **wait)
        except grpc.RpcError as error:
            why = dict(error.trailing_metadata()).get("why")
            answer["failure"] = {"code": error.code().name, "details": error.details(), "why": why}
        try:
            channel.unary_unary(name + "Nothing")(b"", **wait)
        except grpc.RpcError as error:
            answer["unknown"] = error.code().name
            # The response to an unknown method has only trailers.
            answer["unknownTrailers"] = sorted(name for name, _ in error.trailing_metadata())
        many = [channel.unary_unary(name + "Unary").future(str(n).encode(), **wait) for n in range(200)]
        answer["many"] = sum(future.result() == str(n).encode() for n, future in enumerate(many))
    print(json.dumps(answer))


def rounds(method, wait):
    """Sends each message after the answer to the previous one: no hop may buffer either direction."""
    outgoing = queue.Queue()
    replies = method(iter(outgoing.get, None), **wait)
    count = 0
    for number in range(20):
        outgoing.put(str(number).encode())
        count += next(replies) == str(number).encode()
    outgoing.put(None)
    return count


if __name__ == "__main__":
    serve() if sys.argv[1] == "serve" else call(sys.argv[2])
