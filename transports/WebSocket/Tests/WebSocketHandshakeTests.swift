import Byway
import Glibc
import NIOCore
import NIOPosix
import Synchronization
import TCPTransport
import TestTools
import Testing
import TransportTestSupport

@testable import WebSocketTransport

/// Tests the handshake at both ends, with peers that send any bytes.
@Suite("The handshake of a link over WebSocket") struct WebSocketHandshakeTests {
  private let transport = WebSocketTransport(over: TCPTransport())

  // MARK: The listening end

  private static let request = openingRequest(protocols: "chat, byway")

  /// Returns the answer of a listener to the bytes of a client, until `count` bytes or the end.
  private func answer(
    to text: String, options: String = "", count: Int = .max, times: WebSocketTimes = WebSocketTimes()
  ) async throws -> String {
    let transport = WebSocketTransport(over: TCPTransport(), times: times)
    let listener = try await transport.listen(on: LinkAddress("ws://127.0.0.1:0/byway\(options)"), context: .test())
    let client = try await rawClient(of: listener)
    let received = try await client.receiving(count: count)
    try await client.writeAndFlush(ByteBuffer(string: text)).get()
    let answer = try await received.get().text
    client.close(promise: nil)
    await listener.close()
    return answer
  }

  private func rawClient(of listener: any Listener) async throws -> any Channel {
    let port = try #require(try listener.address.hostPort().port)
    return try await TCPTransport().connect(to: LinkAddress("tcp://127.0.0.1:\(port)"), context: .test())
  }

  @Test("accepts the example of RFC 6455, and a frame that comes with it")
  func accepts() async throws {
    let listener = try await transport.listen(on: LinkAddress("ws://127.0.0.1:0/byway"), context: .test())
    let client = try await rawClient(of: listener)
    var bytes = ByteBuffer(string: Self.request)
    bytes.writeBytes([0x82, 0x82, 0, 0, 0, 0, 0x68, 0x69])
    try await client.writeAndFlush(bytes).get()
    let far = try #require(try await nextChannel(of: listener))
    #expect(try await far.received(count: 2).text == "hi")
    let head = try await client.received(count: 150).text
    #expect(
      head.hasPrefix("HTTP/1.1 101 ")
        && head.lowercased().contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="))
    #expect(head.lowercased().contains("sec-websocket-protocol: byway\r\n"))
    try await client.close().get()
    await listener.close()
  }

  @Test(
    "refuses other requests with a status",
    arguments: [
      ("GET /byway", "GET /other", "404"), ("GET /byway", "POST /byway", "400"),
      ("Upgrade: websocket", "Upgrade: h2c", "400"),
      ("Version: 13", "Version: 8", "400"), ("dGhlIHNhbXBsZSBub25jZQ==", "c2hvcnQ=", "400"),
      ("chat, byway", "chat", "400"),
      ("Host: hub", "Host: hub\r\nOrigin: https://evil.example", "403"), ("HTTP/1.1", "HTTP/9.9", "505"),
      ("Host: hub", "Host : hub", "400"),
    ])
  func refuses(_ part: String, _ other: String, _ status: String) async throws {
    let answer = try await answer(to: Self.request.replacing(part, with: other))
    #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
  }

  @Test("demands its token, and compares all of it")
  func token() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("secret-token\n", to: "token")
    chmod(path, 0o600)
    for (given, status) in [
      ("secret-token", "101"), ("secret-tokem", "401"), ("secret-toke", "401"), ("secret-tokenn", "401"), ("", "401"),
    ] {
      let request = Self.request.replacing("Host: hub", with: "Host: hub\r\nAuthorization: Bearer \(given)")
      let answer = try await answer(to: request, options: "?token-file=\(path)", count: 20)
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(given): \(answer)")
    }
    let anonymous = try await answer(to: Self.request, options: "?token-file=\(path)")
    #expect(anonymous.contains("401"))
    let listener = try await transport.listen(
      on: LinkAddress("ws://127.0.0.1:0/byway?token-file=\(path)"), context: .test())
    try await transport.connect(to: listener.address, context: .test()).close().get()
    let without = await bywayError {
      try await transport.connect(to: LinkAddress("ws://\(listener.address.hostPort())/byway"), context: .test())
    }
    #expect(without?.message.contains("answered 401. It wants a token: give it with token-file=FILE") == true)
    try folder.write("another\n", to: "token")
    let apply = try await listener.reread()
    apply()
    try await transport.connect(to: listener.address, context: .test()).close().get()
    await listener.close()
  }

  @Test("a listener logs and reports each reason for a refusal, and not each client")
  func refusals() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("secret-token\n", to: "token")
    chmod(path, 0o600)
    let log = LogRecord()
    let reports = Mutex<[ClientRefusal]>([])
    var context = LinkContext.test(logger: log.logger)
    context.refused = { refusal in reports.withLock { $0.append(refusal) } }
    let listener = try await transport.listen(
      on: LinkAddress("ws://127.0.0.1:0/byway?token-file=\(path)"), context: context)
    for path in ["byway", "byway", "elsewhere"] {
      let address = try LinkAddress("ws://\(listener.address.hostPort())/\(path)")
      _ = await bywayError { try await transport.connect(to: address, context: .test()) }
    }
    let reasons = reports.withLock { $0 }
    #expect(
      reasons.map { $0.reason.contains("401") } == [true, true, false]
        && reasons.allSatisfy { $0.address == "127.0.0.1" })
    let warnings = log.all.filter { $0.contains("A client was refused with status") }
    #expect(warnings.count == 2 && warnings.first?.contains("needs a valid token") == true, "\(warnings)")
    #expect(!log.all.contains { $0.contains("secret-token") })
    await listener.close()
  }

  @Test("refuses a token that others may read, or that is no token")
  func tokenFile() async throws {
    let folder = try TemporaryFolder()
    for (text, mode, word) in [
      ("secret", 0o644, "others may read it"), ("", 0o600, "one line"), ("two words", 0o600, "one line"),
      ("\u{1}", 0o600, "one line"),
    ] as [(String, mode_t, String)] {
      let path = try folder.write(text, to: "token")
      chmod(path, mode)
      let address = try LinkAddress("ws://127.0.0.1:1/byway?token-file=\(path)")
      let error = await bywayError { try transport.check(address, for: .dial) }
      #expect(error?.code == .unreadableFile && error?.message.contains(word) == true, "\(error as Any)")
    }
  }

  @Test("gives up a client whose request never ends")
  func slowClient() async throws {
    var times = WebSocketTimes()
    // Long enough for a busy machine to begin.
    times.handshake = .seconds(1)
    for text in ["GET /byway HTTP/1.1\r\nHost: ", ""] {
      let answer = try await answer(to: text, times: times)
      #expect(answer == "")
    }
  }

  @Test("refuses a flood of fields")
  func fieldFlood() async throws {
    let flood = (0..<400).map { "X-\($0): \($0)\r\n" }.joined()
    let answer = try await answer(to: Self.request.replacing("Host: hub\r\n", with: "Host: hub\r\n\(flood)"))
    #expect(answer.hasPrefix("HTTP/1.1 431 "), "\(answer)")
  }

  // MARK: The dialing end

  /// Returns the error of dialing a server that sends this text after it has read the request.
  private func error(answering text: String, thenCloses: Bool = true, limit: TimeAmount = .seconds(10)) async throws
    -> BywayError?
  {
    let server = try await TCPTransport().listen(on: LinkAddress("tcp://127.0.0.1:0"), context: .test())
    let port = try #require(try server.address.hostPort().port)
    let address = try LinkAddress("ws://127.0.0.1:\(port)/byway")
    async let failure = bywayError { try await transport.connect(to: address, context: .test(limit: limit)) }
    let far = try #require(try await nextChannel(of: server))
    _ = try await far.received(count: 20)
    try await far.writeAndFlush(ByteBuffer(string: text)).get()
    if thenCloses { far.close(promise: nil) }
    let error = await failure
    far.close(promise: nil)
    await server.close()
    return error
  }

  @Test(
    "the error names the status, and what to try",
    arguments: [
      ("401 Unauthorized", "give it with token-file=FILE"), ("403 Forbidden", "refuses the token or the certificate"),
      ("404 Not Found", "There is no link at /byway: check the path"), ("407 Proxy Authentication Required", "proxy="),
      ("429 Too Many Requests", "too many connections"), ("502 Bad Gateway", "does not reach the hub"),
      ("503 Service Unavailable", "does not reach the hub"), ("200 OK", "must pass on Upgrade"),
      ("500 Internal Server Error", "hub listen"),
    ])
  func statuses(_ status: String, _ advice: String) async throws {
    let error = try await error(answering: "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
    #expect(error?.code == .linkUnavailable && error?.processing == BywayError.Processing.none)
    #expect(error?.message.contains("it answered \(status.prefix(3)). ") == true, "\(error as Any)")
    #expect(error?.message.contains(advice) == true, "\(error as Any)")
  }

  @Test("a redirection is an error that names the other address")
  func redirection() async throws {
    let error = try await error(
      answering: "HTTP/1.1 301 Moved\r\nLocation: https://new.example/byway\r\nContent-Length: 0\r\n\r\n")
    #expect(error?.message.contains("It refers to https://new.example/byway") == true, "\(error as Any)")
  }

  @Test("refuses an answer without the proof, with another protocol, or with an extension")
  func proofs() async throws {
    let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    let error = try await error(answering: head + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
    #expect(error?.message.contains("its proof is wrong") == true, "\(error as Any)")
    let other = try await self.error(answering: "HTTP/1.1 101 Switching\r\nUpgrade: tcp\r\nConnection: Upgrade\r\n\r\n")
    #expect(other?.message.contains("its proof is wrong") == true, "\(other as Any)")
  }

  @Test("recognises a peer that is no web server, ends the connection, or never answers")
  func otherPeers() async throws {
    let ssh = try await error(answering: "SSH-2.0-OpenSSH_9.2\r\n")
    #expect(ssh?.message.contains("does not answer like a web server") == true, "\(ssh as Any)")
    let gone = try await error(answering: "")
    #expect(gone?.message.contains("ended the connection instead of opening a WebSocket") == true, "\(gone as Any)")
    let late = try await error(answering: "HTTP/1.1 101 Swi", thenCloses: false, limit: .seconds(1))
    #expect(late?.message.contains("did not answer the request for a WebSocket in time") == true, "\(late as Any)")
  }

  @Test(
    "does not dial or listen beyond this machine without TLS",
    arguments: ["192.0.2.1", "hub.example", "0.0.0.0", "[2001:db8::1]"])
  func privacy(_ host: String) async throws {
    let address = try LinkAddress("ws://\(host)/byway")
    let error = await bywayError { try transport.check(address) }
    #expect(error?.code == .invalidAddress && error?.message.contains("use wss://") == true, "\(error as Any)")
    #expect(await bywayError { try await transport.connect(to: address, context: .test()) }?.code == .invalidAddress)
    #expect(await bywayError { try await transport.listen(on: address, context: .test()) }?.code == .invalidAddress)
  }

  @Test(
    "knows its address's parts",
    arguments: [
      "ws://u@127.0.0.1/x", "ws:127.0.0.1", "ws://127.0.0.1/a b", "ws://127.0.0.1/#a", "ws://127.0.0.1/x?token-file=",
    ])
  func badAddresses(_ text: String) {
    #expect(throws: BywayError.self) { try transport.check(LinkAddress(text)) }
  }

  @Test("clients with a token are known, others are not")
  func audience() throws {
    #expect(try transport.audience(of: LinkAddress("ws://127.0.0.1/x")) == .anyone)
    #expect(try transport.audience(of: LinkAddress("ws://127.0.0.1/x?token-file=/t")) == .known)
    let secure = WebSocketTransport(over: TLSTransport())
    #expect(try secure.audience(of: LinkAddress("wss://127.0.0.1/x?clients=any")) == .anyone)
    #expect(try secure.audience(of: LinkAddress("wss://127.0.0.1/x?ca=/c")) == .known)
    let (encrypted, open) = try (LinkAddress("wss://h/x"), LinkAddress("ws://h/x"))
    #expect(secure.isEncrypted(encrypted) && !transport.isEncrypted(open))
  }
}
