import Byway
import BywayURLSession
import Foundation
import FoundationNetworking
import HTTPTypes
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(2))) struct DataTaskTests {
  private static var bodyOf100Chunks: Body {
    let (body, chunks) = streamedBody()
    for index in 0..<100 { chunks.yield(ByteBuffer(string: "\(index),")) }
    chunks.finish()
    return body
  }

  @Test("an async data call reaches the device over the link")
  func asyncData() async throws {
    try await withRig { request in
      Response(
        status: .created, fields: [.contentType: "text/plain"], body: Body("\(request.head.method) \(request.path)"))
    } _: { rig in
      let (data, response) = try await rig.session().data(from: .device("/a?b=1"))
      #expect(data.text == "GET /a?b=1")
      #expect(response.http?.statusCode == 201)
      #expect(response.http?.value(forHTTPHeaderField: "content-type") == "text/plain")
      #expect(response.url == .device("/a?b=1"))
    }
  }

  @Test("a completion handler receives a body of many chunks as one")
  func completionHandler() async throws {
    try await withRig(answering: Self.bodyOf100Chunks) { rig in
      let text: String? = await withCheckedContinuation { continuation in
        rig.session().dataTask(with: .device()) { data, response, error in
          #expect(error == nil && response?.http?.statusCode == 200)
          continuation.resume(returning: data?.text)
        }.resume()
      }
      #expect(text == (0..<100).map { "\($0)," }.joined())
    }
  }

  @Test("a delegate receives the response, the data and the end, once each")
  func order() async throws {
    try await withRig(answering: Body("hello")) { rig in
      let observer = TaskObserver()
      try await rig.dataTask(for: observer)
      #expect(observer.events == ["response 200", "data", "complete"])
      #expect(observer.data.text == "hello")
    }
  }

  @Test("a delegate receives each event of a stream when it is sent, not at the end")
  func streams() async throws {
    let (body, chunks) = streamedBody()
    try await withRig(answering: body) { rig in
      let observer = TaskObserver()
      rig.session(delegate: observer).dataTask(with: .device("/events")).resume()
      for text in ["one", "onetwo", "onetwothree"] {
        chunks.yield(ByteBuffer(string: String(text.suffix(text.count > 6 ? 5 : 3))))
        try await until { observer.data.text == text }
      }
      #expect(!observer.isComplete)
      chunks.finish()
      try await until { observer.isComplete }
    }
  }

  @Test("with a delegate and a completion handler, only the handler receives the body")
  func handlerBesideDelegate() async throws {
    try await withRig(answering: Body("hello")) { rig in
      let observer = TaskObserver()
      let session = rig.session(delegate: observer)
      let text: String? = await withCheckedContinuation { continuation in
        session.dataTask(with: .device()) { data, _, _ in continuation.resume(returning: data?.text) }.resume()
      }
      #expect(text == "hello")
      #expect(observer.events.isEmpty)
    }
  }

  @Test("the delegate of an async call receives response and data before the call returns")
  func delegateOfCall() async throws {
    try await withRig(answering: Self.bodyOf100Chunks) { rig in
      let (observer, ofSession) = (TaskObserver(), TaskObserver())
      let session = rig.session(delegate: ofSession)
      let (data, _) = try await session.data(for: URLRequest(url: .device()), delegate: observer)
      #expect(observer.events == ["response 200", "data"])
      #expect(observer.data == data && data.text.hasSuffix("98,99,"))
      #expect(ofSession.events.isEmpty)
    }
  }

  @Test("an invalid port is a bad URL", arguments: ["http://device:999999/", "device://panel:65536/x"])
  func badPort(_ text: String) async throws {
    try await withRig { _ in
      Response(status: .ok)
    } _: { rig in
      let url = try #require(URL(string: text))
      let error = await #expect(throws: URLError.self) { try await rig.session().data(from: url) }
      #expect(error?.code == .badURL)
      #expect(error?.failingURL == url)
    }
  }

  @Test("a task without a delegate or a handler completes")
  func nobody() async throws {
    try await withRig(answering: Body("hello")) { rig in
      let task = rig.session().dataTask(with: .device())
      task.resume()
      try await until { task.state == .completed }
    }
  }

  @Test("method, the request's fields and the configuration's fields are sent, the request's taking precedence")
  func fields() async throws {
    try await withRig { request in
      let fields = ["x-own", "x-both", "x-session", "host", "content-length"].map { request.field($0) ?? "-" }
      return Response(status: .ok, body: Body("\(request.head.method) " + fields.joined(separator: " ")))
    } _: { rig in
      let session = rig.session { $0.httpAdditionalHeaders = ["X-Both": "session", "X-Session": "s"] }
      var request = URLRequest(url: .device())
      request.httpMethod = "OPTIONS"
      request.setValue("own", forHTTPHeaderField: "X-Own")
      request.setValue("own", forHTTPHeaderField: "X-Both")
      request.setValue("elsewhere", forHTTPHeaderField: "Host")
      let (data, _) = try await session.data(for: request)
      #expect(data.text == "OPTIONS own own s - -")
    }
  }

  @Test("field names of a response have their usual capitalization")
  func capitalization() async throws {
    try await withRig { _ in
      var response = Response(status: .ok, fields: [.contentType: "text/plain", .eTag: "tag"])
      for name in ["x-serial", "x-xss-protection", "X-x-Twice"] {
        if let name = HTTPField.Name(name) { response.head.headerFields.append(HTTPField(name: name, value: "1")) }
      }
      return response
    } _: { rig in
      let (_, response) = try await rig.session().data(from: .device())
      let names = response.http?.allHeaderFields.keys.compactMap { $0 as? String } ?? []
      // Foundation itself writes Etag.
      for name in ["Content-Type", "Etag", "X-Serial", "X-XSS-Protection", "X-X-Twice"] {
        #expect(names.contains(name), "\(names)")
      }
      #expect(response.http?.value(forHTTPHeaderField: "x-serial") == "1")
    }
  }

  @Test("a custom scheme is sent over the link")
  func ownScheme() async throws {
    try await withRig { request in
      Response(status: .ok, body: Body(request.path))
    } _: { rig in
      let url = try #require(URL(string: "device://panel/status"))
      let (data, response) = try await rig.session().data(from: url)
      #expect(data.text == "/status")
      #expect(response.url == url)
    }
  }

  @Test("responses without content complete")
  func empty() async throws {
    try await withRig { request in
      Response(status: .init(code: Int(request.path.dropFirst()) ?? 200))
    } _: { rig in
      let session = rig.session()
      for status in [200, 204, 304, 404, 500] {
        let (data, response) = try await session.data(from: .device("/\(status)"))
        #expect(data.isEmpty)
        #expect(response.http?.statusCode == status)
      }
    }
  }

  @Test("a truncated response is an error, never a short success")
  func cut() async throws {
    try await withRig { _ in
      let (body, chunks) = streamedBody()
      chunks.yield(ByteBuffer(string: "some"))
      chunks.finish(throwing: CancellationError())
      return Response(status: .ok, body: body)
    } _: { rig in
      await #expect(throws: URLError.self) { try await rig.session().data(from: .device()) }
    }
  }

  @Test("a body too long to collect is an error that names an alternative")
  func collectionLimit() async throws {
    try await withRig(collectionLimit: 1000) { _ in
      Response(status: .ok, body: Body(ByteBuffer(repeating: 1, count: 1001)))
    } _: { rig in
      let error = await #expect(throws: URLError.self) { try await rig.session().data(from: .device()) }
      #expect(error?.code == .dataLengthExceedsMaximum)
      // Foundation's message, with Byway's as the reason.
      #expect(error?.localizedDescription == "resource exceeds maximum size")
      let reason = error?.userInfo[NSLocalizedFailureReasonErrorKey] as? String
      #expect(reason?.contains("delegate") == true)
    }
  }

  @Test("200 tasks run at once")
  func many() async throws {
    try await withRig { request in
      Response(status: .ok, body: Body(request.path))
    } _: { rig in
      let session = rig.session()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<200 {
          group.addTask {
            let (data, _) = try await session.data(from: .device("/\(index)"))
            #expect(data.text == "/\(index)")
          }
        }
        try await group.waitForAll()
      }
    }
  }
}
