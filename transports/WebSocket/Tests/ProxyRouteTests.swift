import Byway
import Glibc
import NIOCore
import TCPTransport
import TestPeers
import TestTools
import TestWire
import Testing
import TransportTestSupport

@testable import WebSocketTransport

/// Tests links through an HTTP proxy.
@Suite("A link through an HTTP proxy") struct ProxyRouteTests {
  private let ws = WebSocketTransport(over: TCPTransport())
  private let wss = WebSocketTransport(over: TLSTransport())

  /// A proxy that takes one client, checks its request, and answers.
  private func proxied(
    _ options: String, answer: String, to target: Int, tls: String? = nil
  ) async throws -> (request: String, error: BywayError?) {
    let proxy = try await TCPTransport().listen(on: LinkAddress("tcp://127.0.0.1:0"), context: .test())
    let port = try #require(try proxy.address.hostPort().port)
    let scheme = tls == nil ? "ws" : "wss"
    let address = try LinkAddress(
      "\(scheme)://127.0.0.1:\(target)/byway?proxy=http://\(options.replacing("PROXY", with: "127.0.0.1:\(port)"))\(tls ?? "")"
    )
    async let failure = bywayError {
      let channel = try await (tls == nil ? ws : wss).connect(to: address, context: .test())
      try await channel.close().get()
    }
    let client = try #require(try await nextChannel(of: proxy))
    let request = try await client.received(count: 40).text
    try await client.writeAndFlush(ByteBuffer(string: answer)).get()
    if answer.hasPrefix("HTTP/1.1 200") {
      let server = try await TCPTransport().connect(to: LinkAddress("tcp://127.0.0.1:\(target)"), context: .test())
      try await client.eventLoop.submit { try client.pipeline.syncOperations.addHandler(PassingHandler(to: server)) }
        .get()
      try await server.eventLoop.submit { try server.pipeline.syncOperations.addHandler(PassingHandler(to: client)) }
        .get()
      client.eventLoop.execute { client.setOption(.autoRead, value: true).whenComplete { _ in client.read() } }
      server.eventLoop.execute { server.setOption(.autoRead, value: true).whenComplete { _ in server.read() } }
    }
    let error = await failure
    client.close(promise: nil)
    await proxy.close()
    return (request, error)
  }

  @Test("opens a tunnel with the login from a file, and TLS within it")
  func secureTunnel() async throws {
    let folder = try TemporaryFolder()
    let password = try folder.write("pass:word\n", to: "password")
    chmod(password, 0o600)
    let authority = try await Certificates()
    let listener = try await wss.listen(
      on: LinkAddress("wss://127.0.0.1:0/byway?ca=\(authority.authority)&\(authority.server.options)"), context: .test()
    )
    let target = try #require(try listener.address.hostPort().port)
    let (request, error) = try await proxied(
      "us%2525er@PROXY&proxy-password=\(password)", answer: "HTTP/1.1 200 Connection established\r\n\r\n", to: target,
      tls: "&ca=\(authority.authority)&\(authority.client.options)")
    #expect(error == nil, "\(error as Any)")
    #expect(request.hasPrefix("CONNECT 127.0.0.1:\(target) HTTP/1.1\r\n"), "\(request)")
    #expect(request.contains("Proxy-Authorization: Basic dXMlZXI6cGFzczp3b3Jk\r\n"), "\(request)")
    await listener.close()
  }

  @Test("opens a plain tunnel to this machine")
  func plainTunnel() async throws {
    let listener = try await ws.listen(on: LinkAddress("ws://127.0.0.1:0/byway"), context: .test())
    let target = try #require(try listener.address.hostPort().port)
    let (request, error) = try await proxied("PROXY", answer: "HTTP/1.1 200 OK\r\n\r\n", to: target)
    #expect(error == nil && !request.contains("Proxy-Authorization"), "\(error as Any)")
    await listener.close()
  }

  @Test(
    "the error names the proxy, its status, and what to try",
    arguments: [
      ("407 Proxy Authentication Required", "wants a login"), ("403 Forbidden", "does not allow 127.0.0.1:9"),
      ("502 Bad Gateway", "does not reach 127.0.0.1:9"), ("503 Busy", "does not reach 127.0.0.1:9"),
      ("504 Late", "does not reach 127.0.0.1:9"), ("400 Bad Request", "Does an HTTP proxy listen there?"),
    ])
  func refusals(_ status: String, _ words: String) async throws {
    let error = try await proxied("PROXY", answer: "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n", to: 9).error
    #expect(error?.code == .linkUnavailable, "\(error as Any)")
    #expect(
      error?.message.hasPrefix("The proxy 127.0.0.1:") == true && error?.message.contains(words) == true,
      "\(error as Any)")
  }

  @Test("says that a login was refused, and never what the password is")
  func refusedLogin() async throws {
    setenv("BYWAY_TEST_SECRET", "hunter2", 1)
    let (request, error) = try await proxied(
      "me@PROXY&proxy-password=env:BYWAY_TEST_SECRET", answer: "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n",
      to: 9)
    #expect(request.contains("Basic bWU6aHVudGVyMg=="), "\(request)")
    #expect(
      error?.message.contains("refuses the login") == true && error?.message.contains("hunter2") == false,
      "\(error as Any)")
  }

  @Test(
    "refuses incomplete and unsafe options",
    arguments: [
      "proxy=proxy:3128", "proxy=http://proxy", "proxy=https://proxy:1", "proxy=http://me@proxy:1",
      "proxy=http://me:secret@proxy:1&proxy-password=f",
      "proxy-password=f", "proxy=http://proxy:1&proxy-password=f", "proxy=http://proxy:1/path",
    ])
  func options(_ options: String) {
    let error = #expect(throws: BywayError.self) { try wss.check(LinkAddress("wss://hub.example/byway?\(options)")) }
    #expect(error?.code == .invalidAddress && error?.message.contains("secret") == false)
  }

  @Test("a proxy that is not there, or does not answer, is an error about the proxy")
  func missing() async throws {
    let unused = try UnusedPort()
    let address = try LinkAddress("ws://127.0.0.1:9/byway?proxy=http://127.0.0.1:\(unused.port)")
    let refused = await bywayError { try await ws.connect(to: address, context: .test()) }
    #expect(
      refused?.message.hasPrefix("Nothing listens on the proxy 127.0.0.1:\(unused.port)") == true, "\(refused as Any)")
    withExtendedLifetime(unused) {}
    let proxy = try await TCPTransport().listen(on: LinkAddress("tcp://127.0.0.1:0"), context: .test())
    let silent = try LinkAddress("ws://127.0.0.1:9/byway?proxy=http://\(proxy.address.hostPort())")
    let late = await bywayError { try await ws.connect(to: silent, context: .test(limit: .milliseconds(500))) }
    #expect(late?.message.contains("opened no tunnel to 127.0.0.1:9 in time") == true, "\(late as Any)")
    #expect(late?.diagnosis?.fault == .noAnswer)
    await proxy.close()
  }

  @Test("the password for a proxy must be there before the proxy is dialed")
  func missingPassword() async throws {
    let unused = try UnusedPort()
    for (source, words) in [
      ("env:BYWAY_NO_SUCH_VARIABLE", "The environment variable BYWAY_NO_SUCH_VARIABLE (proxy-password=) is not set"),
      ("/no/such/file", "Cannot read /no/such/file (proxy-password=)"),
    ] {
      let address = try LinkAddress(
        "ws://127.0.0.1:9/byway?proxy=http://me@127.0.0.1:\(unused.port)&proxy-password=\(source)")
      let dialed = await bywayError { try await ws.connect(to: address, context: .test()) }
      #expect(dialed?.message.contains(words) == true && dialed?.code == .linkUnavailable, "\(dialed as Any)")
      let checked = await bywayError { try ws.check(address, for: .dial) }
      #expect(checked?.message.contains(words) == true && checked?.code == .unreadableFile, "\(checked as Any)")
    }
    withExtendedLifetime(unused) {}
  }

  @Test("other spellings of a proxy are accepted")
  func spellings() throws {
    for proxy in ["http://proxy:3128/", "http://[::1]:1", "http://me@proxy:65535&proxy-password=/p"] {
      try wss.check(LinkAddress("wss://hub.example/byway?proxy=\(proxy)"))
    }
    for proxy in [
      "http://proxy:0", "http://proxy:1?a=b", "http://a%253Ab@proxy:1&proxy-password=/p",
      "http://@proxy:1&proxy-password=/p",
    ] {
      #expect(throws: BywayError.self, "\(proxy)") {
        try wss.check(LinkAddress("wss://hub.example/byway?proxy=\(proxy)"))
      }
    }
  }

  @Test("a listener has no proxy")
  func listener() async throws {
    let address = try LinkAddress("ws://127.0.0.1:0/byway?proxy=http://proxy:1")
    #expect(await bywayError { try ws.check(address, for: .listen) }?.code == .invalidAddress)
    #expect(await bywayError { try await ws.listen(on: address, context: .test()) }?.code == .invalidAddress)
  }
}
