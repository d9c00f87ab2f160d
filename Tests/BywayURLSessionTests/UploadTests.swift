import Byway
import BywayURLSession
import Foundation
import FoundationNetworking
import HTTPTypes
import NIOCore
import TestPeers
import TestTools
import Testing

@Suite(.timeLimit(.minutes(2))) struct UploadTests {
  /// Responds with the request's body.
  private static let echo: Rig.Handler = { request in
    let body = try await request.body.collect(upTo: 1 << 24)
    return Response(
      status: .ok,
      fields: [
        .init("x-length") ?? .server: request.field("content-length") ?? "none",
        .init("x-type") ?? .server: request.field("content-type") ?? "none",
      ], body: Body(body))
  }

  private static func post(_ path: String = "/") -> URLRequest {
    var request = URLRequest(url: .device(path))
    request.httpMethod = "POST"
    return request
  }

  @Test("a data task sends the request's body")
  func httpBody() async throws {
    try await withRig(Self.echo) { rig in
      var request = Self.post()
      request.httpBody = Data("hello".utf8)
      let (data, response) = try await rig.session().data(for: request)
      #expect(data.text == "hello")
      #expect(response.http?.value(forHTTPHeaderField: "x-length") == "5")
      // Foundation's own protocol does so as well.
      #expect(response.http?.value(forHTTPHeaderField: "x-type") == "application/x-www-form-urlencoded")
    }
  }

  @Test("a data task sends the request's stream, with a length if the request has one")
  func httpBodyStream() async throws {
    try await withRig(Self.echo) { rig in
      var request = Self.post()
      request.httpBodyStream = InputStream(data: Data("streamed".utf8))
      let (data, response) = try await rig.session().data(for: request)
      #expect(data.text == "streamed")
      #expect(response.http?.value(forHTTPHeaderField: "x-length") == "none")

      request.httpBodyStream = InputStream(data: Data("streamed".utf8))
      request.setValue("8", forHTTPHeaderField: "Content-Length")
      let (_, second) = try await rig.session().data(for: request)
      #expect(second.http?.value(forHTTPHeaderField: "x-length") == "8")
    }
  }

  @Test("an upload from data arrives complete, and the delegate receives the progress")
  func data() async throws {
    try await withRig(Self.echo) { rig in
      let bytes = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) })
      let observer = TaskObserver()
      rig.session(delegate: observer).uploadTask(with: Self.post(), from: bytes).resume()
      try await until { observer.isComplete }
      #expect(observer.data == bytes)
      #expect(observer.sent.last == 1_000_000)
      #expect(observer.sent.count > 5)
      #expect(observer.sent == observer.sent.sorted())
    }
  }

  @Test("an upload from a file is read from the file")
  func file() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("from a file", to: "body")
    try await withRig(Self.echo) { rig in
      let session = rig.session()
      let (data, response) = try await session.upload(for: Self.post(), fromFile: URL(fileURLWithPath: path))
      #expect(data.text == "from a file")
      #expect(response.http?.value(forHTTPHeaderField: "x-length") == "11")
      let error = await #expect(throws: URLError.self) {
        try await session.upload(for: Self.post(), fromFile: URL(fileURLWithPath: folder["none"]))
      }
      #expect(error?.localizedDescription.contains(folder["none"]) == true)
    }
  }

  @Test("a streamed upload asks the delegate for its stream")
  func streamed() async throws {
    try await withRig(Self.echo) { rig in
      let observer = TaskObserver()
      observer.stream = { InputStream(data: Data("made by the delegate".utf8)) }
      rig.session(delegate: observer).uploadTask(withStreamedRequest: Self.post()).resume()
      try await until { observer.isComplete }
      #expect(observer.events == ["stream", "response 200", "data", "complete"])
      #expect(observer.data.text == "made by the delegate")
    }
  }

  @Test("a GET with a body is refused as in Foundation, and nothing is sent")
  func bodyOfGET() async throws {
    try await withRig { _ in
      Issue.record("The request was sent.")
      return Response(status: .ok)
    } _: { rig in
      var ofData = URLRequest(url: .device())
      ofData.httpBody = Data("hello".utf8)
      var ofStream = URLRequest(url: .device())
      ofStream.httpBodyStream = InputStream(data: Data("hello".utf8))
      for request in [ofData, ofStream] {
        let error = await #expect(throws: URLError.self) { try await rig.session().data(for: request) }
        #expect(error?.code == .dataLengthExceedsMaximum)
        #expect(error?.failingURL == .device())
      }
      await #expect(throws: URLError.self) {
        try await rig.session().upload(for: URLRequest(url: .device()), from: Data("hello".utf8))
      }
    }
  }

  @Test("a streamed upload without a stream fails with an explanation")
  func noStream() async throws {
    try await withRig(Self.echo) { rig in
      let observer = TaskObserver()
      rig.session(delegate: observer).uploadTask(withStreamedRequest: Self.post()).resume()
      try await until { observer.isComplete }
      #expect(observer.error?.code == .requestBodyStreamExhausted)
      #expect(observer.error?.localizedDescription.contains("needNewBodyStream") == true)
    }
  }
}
