import Byway
import BywayPrimitives
import Crypto
import HTTPTypes
import NIOCore
import Synchronization

/// The demo's service: an async function without a listening socket.
struct DemoOrigin: Sendable {
  private let start = NIODeadline.now()
  private let requests = RequestCount()

  init() {}

  func respond(to request: Request) async throws -> Response {
    let number = requests.next()
    let target = DemoTarget(request.head.path ?? "/")
    switch (target.path, request.head.method) {
    case ("/", .get), ("/", .head):
      return Response(status: .ok, fields: [.contentType: "text/html; charset=utf-8"], body: Body(DemoPage.html))
    case ("/status", .get), ("/status", .head):
      let uptime = (NIODeadline.now() - start).nanoseconds / 1_000_000_000
      return json(["service": "byway demo", "request": .number(number), "uptime_seconds": .number(uptime)])
    case ("/events", .get):
      let events = DemoEvents(every: target.milliseconds("every", upTo: 60_000) ?? 1000, count: target.number("count"))
      return Response(
        status: .ok, fields: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: Body(events))
    case ("/big", .get):
      let bytes = target.number("bytes") ?? 1 << 20
      return Response(
        status: .ok, fields: [.contentType: "application/octet-stream"],
        body: Body(DemoBytes(count: bytes), length: bytes, isReplayable: true))
    case ("/slow", .get):
      let pause = target.milliseconds("ms", upTo: 60_000) ?? 2000
      try await Task.sleep(for: .milliseconds(pause))
      return json(["slept_ms": .number(pause)])
    case ("/upload", .put), ("/upload", .post):
      return try await receive(request.body)
    case ("/", _), ("/status", _), ("/events", _), ("/big", _), ("/slow", _):
      return Response(status: .methodNotAllowed, fields: [.allow: "GET"], body: Body("Only GET works here.\n"))
    case ("/upload", _):
      return Response(
        status: .methodNotAllowed, fields: [.allow: "PUT, POST"], body: Body("Only PUT and POST work here.\n"))
    default:
      return Response(status: .notFound, fields: [.contentType: "text/plain"], body: Body("Nothing is here.\n"))
    }
  }

  private func receive(_ body: Body) async throws -> Response {
    var bytes = 0
    var hash = SHA256()
    for try await chunk in body {
      bytes += chunk.readableBytes
      chunk.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
    }
    return json(["bytes": .number(bytes), "sha256": .string(Hex.text(hash.finalize()))])
  }

  private func json(_ value: JSON) -> Response {
    Response(
      status: .ok, fields: [.contentType: "application/json", .cacheControl: "no-store"], body: Body("\(value)\n"))
  }
}

private final class RequestCount: Sendable {
  private let count = Atomic(0)

  func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}
