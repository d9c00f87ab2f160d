import BywayDevices
import BywayGateway
import Glibc
import HTTPTypes
import LoopbackTransport
import TestTools
import TestWire
import Testing

@testable import Byway
@testable import BywayProxy

/// The records that a proxy's observers receive.
@Suite(.timeLimit(.minutes(1)), .cleansUp) struct ObservedProxyTests {
  /// An interceptor that forwards every request in a task.
  private struct Passing: Interceptor {
    func intercept(_ request: Request, next: Next) async throws -> Response { try await next(request) }
  }

  private let observer = RecordingObserver()

  private func fixture(
    isIntercepted: Bool = false,
    respond: (@Sendable (Request) async throws -> Response)? = { try await ProxyFixture.describe($0) }
  ) async throws -> ProxyFixture {
    try await ProxyFixture(respond: respond) { configuration in
      configuration.observers = [observer]
      configuration.patience = .zero
      if isIntercepted { configuration.interceptors = [Passing()] }
    }
  }

  @Test("the record of an exchange has its link and the time it waited for the link", arguments: [false, true])
  func upstream(isIntercepted: Bool) async throws {
    let fixture = try await fixture(isIntercepted: isIntercepted)
    _ = try await fixture.exchange("GET /x HTTP/1.1\r\nHost: localhost")
    #expect(try await eventually { observer.heard.ended.count == 1 })
    let record = try #require(observer.heard.ended.first)
    #expect(record.upstream?.hasPrefix("loopback:proxy-") == true && record.attempts == 1 && !record.isClientsChoice)
    // The bound address: the fixture uses port 0.
    #expect(record.listener == fixture.proxy.address.text)
    let times = [record.begun, record.sent, record.answered, record.ended].compactMap(\.self)
    #expect(times.count == 4 && times == times.sorted() && observer.heard.sent.count == 1)
    await fixture.stop()
  }

  @Test("the record of an exchange has the client's address and the device, also of an exchange in a tunnel")
  func peer() async throws {
    let street = "loopback:none-\(UInt64.random(in: 0 ... .max))"
    let transports = TransportRegistry([LoopbackTransport()])
    let link = try transports.link(street)
    let device = try Device(#require(DeviceName("lamp")), links: [link])
    let pattern = try DevicePattern("pi-{name}", links: ["\(street)-{name}"]) { try transports.link($0) }
    let directory = try DeviceDirectory([device], patterns: [pattern])
    let fixture = try await ProxyFixture(
      respond: nil,
      change: {
        $0.observers = [observer]
        $0.patience = .zero
        $0.devices = directory
      })
    for name in ["pi-1", "nothing"] {
      _ = try await fixture.exchange("GET /\(name) HTTP/1.1\r\nHost: \(name).localhost")
    }
    _ = try await fixture.exchange("GET /plain HTTP/1.1\r\nHost: lamp.localhost")
    let tunnel = try await fixture.tunnel(to: "lamp.localhost:80")
    try await tunnel.send("GET /within HTTP/1.1\r\nHost: lamp.localhost\r\nConnection: close\r\n\r\n")
    _ = try await tunnel.receiveToEnd()
    #expect(try await eventually { observer.heard.ended.contains { $0.path == "/within" } })
    let peers = observer.heard.ended.filter { $0.path != nil }.map { "\($0.path ?? "") \($0.peer?.address ?? "-")" }
    #expect(peers.sorted() == ["/nothing", "/pi-1", "/plain", "/within"].map { "\($0) 127.0.0.1" })
    let devices = observer.heard.ended.filter { $0.path != nil }.map {
      "\($0.path ?? "") \($0.device.map { "\($0.name) \($0.isConfigured)" } ?? "-")"
    }
    #expect(devices.sorted() == ["/nothing -", "/pi-1 pi-1 false", "/plain lamp true", "/within lamp true"])
    await fixture.stop()
  }

  @Test("the record of an exchange over a Unix socket has the client's user and process")
  func unixPeer() async throws {
    let folder = try TemporaryFolder()
    let fixture = try await ProxyFixture(listen: "unix:\(folder["s"])", change: { $0.observers = [observer] })
    _ = try await fixture.exchange("GET /x HTTP/1.1\r\nHost: localhost")
    #expect(try await eventually { observer.heard.ended.count == 1 })
    let peer = try #require(observer.heard.ended.first?.peer)
    #expect(peer.address == nil && peer.userID == getuid() && peer.processID == getpid())
    await fixture.stop()
  }

  @Test("a lost link is recorded as the link's failure, and an unknown host as the client's")
  func failures() async throws {
    let fixture = try await fixture(respond: nil)
    _ = try await fixture.exchange("GET / HTTP/1.1\r\nHost: localhost")
    _ = try await fixture.exchange("GET / HTTP/1.1\r\nHost: evil.example")
    #expect(try await eventually { observer.heard.ended.count == 2 })
    let failures = observer.heard.ended.map {
      "\($0.failure.map { "\($0.code) \($0.party)" } ?? "-") \($0.status ?? 0)"
    }
    #expect(failures == ["linkUnavailable link 503", "misdirected client 421"])
    await fixture.stop()
  }

  @Test("the gateway receives the exchange id that the proxy has recorded, from the client or new")
  func trace() async throws {
    let name = try #require(HTTPField.Name("traceparent"))
    let fixture = try await fixture(respond: { Response(status: .ok, body: Body($0.head.headerFields[name] ?? "none")) }
    )
    let known = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
    #expect(try await fixture.exchange("GET / HTTP/1.1\r\nHost: localhost\r\nTraceparent: \(known)").hasSuffix(known))
    let answer = try await fixture.exchange("GET / HTTP/1.1\r\nHost: localhost")
    #expect(try await eventually { observer.heard.ended.count == 2 })
    let traces = observer.heard.ended.compactMap { $0.trace?.description }
    #expect(traces.first == "4bf92f3577b34da6a3ce929d0e0e4736" && answer.contains("\r\n\r\n00-\(traces.last ?? "")-"))
    await fixture.stop()
  }

  @Test("with ids disabled, the proxy adds none, and records one that is present")
  func unwanted() async throws {
    let name = try #require(HTTPField.Name("traceparent"))
    let observer = RecordingObserver(wantsID: false)
    let fixture = try await ProxyFixture(
      respond: { Response(status: .ok, body: Body($0.head.headerFields[name] ?? "none")) },
      change: { $0.observers = [observer] })
    #expect(try await fixture.exchange("GET / HTTP/1.1\r\nHost: localhost").hasSuffix("none"))
    let known = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
    #expect(try await fixture.exchange("GET / HTTP/1.1\r\nHost: localhost\r\nTraceparent: \(known)").hasSuffix(known))
    #expect(try await eventually { observer.heard.ended.count == 2 })
    #expect(observer.heard.ended.map { $0.trace?.description } == [nil, "4bf92f3577b34da6a3ce929d0e0e4736"])
  }
}
