import Byway
import BywayInterceptors
import BywayPrimitives
import Foundation
import HTTPTypes
import NIOCore
import TestTools
import Testing

@testable import BywayInspector

/// Actions on requests by a client with the token.
@Suite("Injected faults and recordings of the inspector", .timeLimit(.minutes(1))) struct ActingTests {
  private static let page = String(repeating: "0123456789", count: 20)

  private func house() async throws -> InspectedProxy {
    try await InspectedProxy { request in
      let asked = try await request.body.collect(upTo: 1000)
      return Response(
        status: .ok, fields: [.contentType: "text/plain"],
        body: asked.readableBytes > 0 ? Body(asked) : Body(Self.page))
    }
  }

  private func addFault(_ house: InspectedProxy, _ text: String) async throws -> (status: Int, text: String) {
    let answer = try await house.ask(.post, "/api/faults", text, token: house.feed.token)
    return (answer.status, answer.text)
  }

  @Test("a fault rule answers requests in its scope until it is removed")
  func answered() async throws {
    let house = try await house()
    #expect(try await house.json("/api/exchanges")["can"] == ["resend", "faults", "breakpoints", "stubs"])
    #expect(try await addFault(house, #"{"method":"GET","path":"/a","status":503}"#).status == 200)
    for (path, status) in [("/a/b", 503), ("/ab", 200)] {
      let response = try await house.client.execute(Request(url: "http://localhost\(path)"))
      #expect(response.status.code == status, "\(path)")
      _ = try await response.body.collect(upTo: 1000)
    }
    let post = try await house.client.execute(Request(.post, url: "http://localhost/a", body: Body("x")))
    #expect(post.status == .ok)
    _ = try await post.body.collect(upTo: 1000)
    let list = try await house.json("/api/faults")
    #expect(try InspectorFeedTests.schema.problems(of: list, as: "faults") == [])
    #expect(list["faults"] == [["id": 1, "hits": 1, "method": "GET", "path": "/a", "status": 503]])
    #expect(try await house.exchanges().first?["from"]?.text == "proxy")
    #expect(try await house.ask(.post, "/api/faults/1/remove", token: house.feed.token).status == 200)
    #expect(try await house.ask(.post, "/api/faults/1/remove", token: house.feed.token).status == 404)
    let after = try await house.client.execute(Request(url: "http://localhost/a"))
    #expect(after.status == .ok)
    _ = try await after.body.collect(upTo: 1000)
    await house.stop()
  }

  @Test("the event stream reports injected faults once, and again when they change")
  func reported() async throws {
    let house = try await house()
    #expect(try await addFault(house, #"{"path":"/a","status":503}"#).status == 200)
    func get() async throws {
      _ = try await house.client.execute(Request(url: "http://localhost/")).body.collect(upTo: 1000)
    }
    try await get()
    let head = HTTPRequest(method: .get, scheme: "http", authority: "localhost:4040", path: "/api/events")
    var text = ""
    var steps = 0
    for try await chunk in try await house.feed.respond(to: Request(head)).body {
      text += String(buffer: chunk)
      guard text.ranges(of: "event: exchanges\n").count > steps else { continue }
      steps += 1
      if steps == 3 { break }
      if steps == 2 {
        #expect(try await house.ask(.post, "/api/faults/1/remove", token: house.feed.token).status == 200)
      }
      try await get()
    }
    let reports = text.split(separator: "\n\n").filter { $0.contains("event: faults") }
    #expect(reports.count == 2, "\(text)")
    #expect(
      reports.first?.contains(#""rules":1"#) == true && reports.last?.contains(#""rules":0"#) == true, "\(reports)")
    await house.stop()
  }

  @Test("a fault rule cuts a response after a number of bytes, and the error says so")
  func cut() async throws {
    let house = try await house()
    #expect(try await addFault(house, #"{"cut":50}"#).status == 200)
    var came = 0
    await #expect(throws: (any Error).self) {
      for try await chunk in try await house.client.execute(Request(url: "http://localhost/")).body {
        came += chunk.readableBytes
      }
    }
    #expect(came <= 50)
    #expect(try await eventually { try await house.exchanges().first?["state"]?.text == "failed" })
    let failure = try await house.exchanges().first?["failure"]
    #expect(failure?["message"]?.text?.contains("cut this response after 50 bytes") == true, "\(failure ?? .null)")
    await house.stop()
  }

  @Test(
    "an invalid fault rule is refused with the valid form",
    arguments: [
      ("", "object"), ("[]", "object"), ("{}", "one of"), (#"{"delay":1,"cut":1}"#, "one of"),
      (#"{"delay":1,"pth":"/x"}"#, "unknown"), (#"{"delay":-1}"#, "1 to 3600000"), (#"{"delay":"1"}"#, "number"),
      (#"{"delay":3600001}"#, "1 to 3600000"), (#"{"rate":0}"#, "1 to"), (#"{"rate":1000000001}"#, "1 to 1000000000"),
      (#"{"status":600}"#, "200 to 599"), (#"{"cut":2147483648}"#, "0 to 2147483647"),
      (#"{"status":101}"#, "200 to 599"), (#"{"cut":1e99}"#, "number"), (#"{"cut":1,"path":"a"}"#, "begins with /"),
      (#"{"cut":1,"host":"a b"}"#, "not a host"), (#"{"cut":1,"method":"A B"}"#, "not a method"),
    ])
  func refused(_ text: String, _ words: String) async throws {
    let house = try await house()
    let answer = try await addFault(house, text)
    #expect(answer.status == 400 && answer.text.contains(words), "\(answer.text)")
    #expect(try await house.json("/api/faults")["faults"] == [])
    #expect(try await house.ask(.post, "/api/faults", #"{"cut":1}"#).status == 403)
    #expect(try await house.ask(.post, "/api/line", #"{"pulled":true}"#, token: house.feed.token).status == 501)
    #expect(try await house.ask(.get, "/api/recording").status == 403)
    await house.stop()
  }

  @Test("a fault rule has at most 64 KiB and all have at most 1 MiB, and more is refused with advice")
  func sizes() async throws {
    let house = try await house()
    func path(_ count: Int) -> String { #"{"delay":1,"path":"/\#(String(repeating: "a", count: count))"}"# }
    let large = try await addFault(house, path(64 << 10))
    #expect(large.status == 413 && large.text.contains("at most 64 KiB"), "\(large)")
    for _ in 0..<16 { #expect(try await addFault(house, path(65_400)).status == 200) }
    let more = try await addFault(house, path(65_400))
    #expect(more.status == 413 && more.text.contains("remove one"), "\(more)")
    #expect(try await addFault(house, path(1)).status == 200)
    #expect(try await house.ask(.post, "/api/faults/1/remove", token: house.feed.token).status == 200)
    #expect(try await addFault(house, path(65_000)).status == 200)
    await house.stop()
  }

  @Test(
    "a fault rule's response with a status without content has no body",
    arguments: [(204, nil), (205, "0"), (304, nil), (503, "51")])
  func bodiless(_ status: Int, _ length: String?) async throws {
    let house = try await house()
    #expect(try await addFault(house, #"{"status":\#(status)}"#).status == 200)
    let response = try await house.client.execute(Request(url: "http://localhost/"))
    #expect(response.status.code == status)
    #expect(response.fields[.contentLength] == length)
    #expect(response.fields.contains(.contentType) == (status == 503))
    let body = try await response.body.collect(upTo: 1000)
    #expect(body.readableBytes == (status == 503 ? 51 : 0))
    await house.stop()
  }

  @Test("the inspector accepts at most 50 fault rules")
  func limit() async throws {
    let house = try await house()
    for _ in 0..<50 { #expect(try await addFault(house, #"{"delay":1}"#).status == 200) }
    #expect(try await addFault(house, #"{"delay":1}"#).status == 503)
    await house.stop()
  }

  @Test(
    "a recording works with --replay, without secrets and without exchanges with incomplete bodies"
  )
  func recording() async throws {
    let house = try await InspectedProxy(bodyLimit: 300) { request in
      switch request.head.path ?? "" {
      case "/large": return Response(status: .ok, body: Body(String(repeating: "x", count: 301)))
      case "/login":
        return Response(
          status: .ok, fields: [.contentType: "application/json", .setCookie: "id=7"],
          body: Body(#"{"token":"abc","n":1}"#))
      default:
        let asked = try await request.body.collect(upTo: 1000)
        return Response(status: asked.readableBytes > 0 ? .created : .ok, body: Body("to " + String(buffer: asked)))
      }
    }
    let requests = [
      try Request(url: "http://localhost/"), try Request(.post, url: "http://localhost/", body: Body("one")),
      try Request(.post, url: "http://localhost/", body: Body("two")), try Request(url: "http://localhost/large"),
      try Request(url: "http://localhost/login"), try Request(.head, url: "http://localhost/"),
    ]
    for request in requests { _ = try await house.client.execute(request).body.collect(upTo: 1000) }
    let answer = try await house.ask(.get, "/api/recording", token: house.feed.token)
    await house.stop()
    let folder = try TemporaryFolder()
    let replay = try Replay(from: folder.write(answer.text, to: "byway.recording"))
    let next = Next([][...], terminal: { _ in Response(status: .notImplemented) })
    var told: [String] = []
    for request in requests {
      do {
        let response = try await replay.intercept(request, next: next)
        told.append("\(response.status.code) \(String(buffer: try await response.body.collect(upTo: 1000)))")
      } catch {
        told.append("\(BywayError(error).code)")
      }
    }
    #expect(
      told == [
        "200 to ", "201 to one", "201 to two", "originUnavailable", #"200 {"token":"[redacted]","n":1}"#, "200 ",
      ])
    #expect(!answer.text.contains("id=7"))
    // A file truncated anywhere is refused as a whole.
    for length in stride(from: 1, to: answer.text.utf8.count, by: 37) {
      let part = String(decoding: Array(answer.text.utf8.prefix(length)), as: UTF8.self)
      let path = try folder.write(part, to: "part.recording")
      if let replay = try? Replay(from: path) {
        // A truncation between two entries leaves a valid file.
        #expect(part.hasSuffix(".\n"), "\(length)")
        withExtendedLifetime(replay) {}
      }
    }
  }
}
