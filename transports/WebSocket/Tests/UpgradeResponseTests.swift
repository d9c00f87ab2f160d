import Byway
import BywayHTTPWire
import Glibc
import NIOCore
import TCPTransport
import TestTools
import Testing
import TransportTestSupport

@testable import WebSocketTransport

/// Tests the dialing end with a server that knows the proof, and with answers that no server of the other tests gives.
@Suite("The response to a request for a link over WebSocket") struct UpgradeResponseTests {
  private let transport = WebSocketTransport(over: TCPTransport())

  /// Dials a server that answers with a valid proof and these further lines, in pieces.
  private func dial(
    _ lines: String, then rest: [UInt8] = [], pieces: Int = .max
  ) async throws -> (request: String, channel: (any Channel)?, error: BywayError?) {
    let server = try await TCPTransport().listen(on: LinkAddress("tcp://127.0.0.1:0"), context: .test())
    let port = try #require(try server.address.hostPort().port)
    let address = try LinkAddress("ws://127.0.0.1:\(port)/byway")
    let dialing = Task { try await transport.connect(to: address, context: .test()) }
    let far = try #require(try await nextChannel(of: server))
    let request = try await far.received(count: 150).text
    var fields = FieldSection()
    let key = try #require(request.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key: ") })
    fields.append(name: "sec-websocket-key", value: String(key.dropFirst("sec-websocket-key: ".count)))
    var proof = FieldSection()
    try #require(WebSocketHandshake(answering: &fields)).confirm(&proof)
    let accept = try #require(proof.text(of: "sec-websocket-accept"))
    var answer =
      Array(
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \(accept)\r\n"
          + "\(lines)\r\n").utf8)[...] + rest
    let ended = try await far.receiving()
    while !answer.isEmpty {
      try await far.writeAndFlush(ByteBuffer(bytes: answer.prefix(pieces))).get()
      answer = answer.dropFirst(pieces)
    }
    await server.close()
    switch await dialing.result {
    case .success(let channel): return (request, channel, nil)
    case .failure(let error):
      // The connection of a failed handshake is closed.
      #expect(try await ended.get().text == "")
      far.close(promise: nil)
      return (request, nil, error as? BywayError)
    }
  }

  @Test(
    "a link opens with the proof and the subprotocol, whatever the pieces, and a frame that comes with them is kept")
  func opens() async throws {
    for pieces in [11, Int.max] {
      let (request, channel, error) = try await dial(
        "Sec-WebSocket-Protocol: byway\r\n", then: [0x82, 2, 0x68, 0x69], pieces: pieces)
      #expect(error == nil, "\(error as Any)")
      #expect(try await channel?.received(count: 2).text == "hi")
      #expect(
        request.hasPrefix("GET /byway HTTP/1.1\r\n")
          && request.lowercased().contains("sec-websocket-protocol: byway\r\n"))
      #expect(!request.contains("Authorization"))
      try await channel?.pipeline.context(handlerType: WebSocketLink.self).flatMap { $0.close() }.get()
    }
  }

  @Test(
    "refuses a proven answer without the subprotocol, with another one, or with an extension",
    arguments: [
      ("", "is a WebSocket of another program"),
      ("Sec-WebSocket-Protocol: chat\r\n", "is a WebSocket of another program"),
      (
        "Sec-WebSocket-Protocol: byway\r\nSec-WebSocket-Extensions: permessage-deflate\r\n",
        "extension that was not offered"
      ),
    ])
  func refuses(_ lines: String, _ words: String) async throws {
    let (_, channel, error) = try await dial(lines)
    #expect(channel == nil && error?.message.contains(words) == true, "\(error as Any)")
    #expect(error?.diagnosis?.fault == .handshakeFailed)
  }

  @Test(
    "each status has its fault and its advice",
    arguments: [
      (401, nil, "", .loginRefused, "It wants a token: give it"),
      (401, "/t", "", .loginRefused, "It refuses the token"),
      (403, nil, "", .loginRefused, "It refuses the token"), (404, nil, "", .handshakeFailed, "no link at /byway"),
      (407, nil, "", .handshakeFailed, "wants a login"), (429, nil, "", .handshakeFailed, "too many connections"),
      (502, nil, "", .noGateway, "does not reach the hub"), (503, nil, "", .noGateway, "does not reach the hub"),
      (504, nil, "", .noGateway, "does not reach the hub"),
      (302, nil, "", .handshakeFailed, "It refers to another address"),
      (399, nil, "https://h/a", .handshakeFailed, "It refers to https://h/a: use"),
      (400, nil, "https://h/a", .handshakeFailed, "Does a hub listen at /byway?"),
      (299, nil, "", .handshakeFailed, "Does a hub listen at /byway?"),
    ] as [(Int, String?, String, LinkFault, String)])
  func statuses(_ status: Int, _ token: String?, _ location: String, _ fault: LinkFault, _ words: String) throws {
    let target = try WebSocketTarget(LinkAddress("ws://127.0.0.1/byway" + (token.map { "?token-file=\($0)" } ?? "")))
    var head = FieldSection()
    if !location.isEmpty { head.append(name: "location", value: location) }
    let error = WebSocketRefusal(status: status, head, target).error
    #expect(error.message.contains("it answered \(status). ") && error.message.contains(words), "\(error)")
    #expect(error.diagnosis?.fault == fault && error.code == .linkUnavailable)
  }

  @Test("a message shows at most 200 characters of another address, and no control characters")
  func longLocation() throws {
    let target = try WebSocketTarget(LinkAddress("ws://127.0.0.1/byway"))
    var head = FieldSection()
    head.append(name: "location", value: "https://h/" + String(repeating: "a", count: 500))
    let message = WebSocketRefusal(status: 301, head, target).error.message
    #expect(message.contains("https://h/" + String(repeating: "a", count: 190) + ": use that address"))
  }
}
