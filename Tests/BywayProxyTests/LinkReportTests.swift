import Byway
import BywayGateway
import BywayLineDevices
import BywayLineEmulation
import Foundation
import Logging
import NIOCore
import SerialTransport
import Synchronization
import TCPTransport
import TestTools
import Testing

@testable import BywayProxy

/// Link reports for programs.
@Suite("Link status of client and proxy", .timeLimit(.minutes(1))) struct LinkReportTests {
  @Test("client and proxy report link states and line statistics while the cable is pulled and plugged")
  func cable() async throws {
    try await withTemporaryFolder { folder in
      let transports = TransportRegistry([SerialTransport(), TCPTransport()])
      let line = try PseudoTerminalLine(LineConfiguration(), paths: ("\(folder)/device", "\(folder)/host"))
      var inner = GatewayConfiguration(
        links: [try transports.link("serial:\(folder)/device")], origin: .handler { _ in Response(status: .ok) })
      inner.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      let gateway = try await Gateway.start(inner)
      let proxy = try await Proxy.start(
        ProxyConfiguration(
          link: transports.link("serial:\(folder)/host?flow=none"), listen: transports.link("tcp://127.0.0.1:0")))
      let idle = await proxy.links()
      #expect(idle.map(\.state) == [.idle] && idle.first?.device == nil && idle.first?.line == nil)
      #expect(idle.first?.addresses == ["serial:\(folder)/host"])

      let states = States()
      let watching = Task {
        for await reports in proxy.linkChanges(lookingEvery: .milliseconds(5)) {
          if let state = reports.first?.state { states.add(state) }
        }
      }
      let local = BywayClient(try transports.link("\(proxy.address)?http=1.1"))
      #expect(try await local.get("http://localhost/").status == .ok)
      let up = try #require(await proxy.links().first)
      #expect(up.state == .up && up.reason == nil)
      let before = try #require(up.line)
      #expect(before.sentFrames > 0 && before.receivedBytes > 0 && before.resumes == 0)

      line.cut(.hangUp, at: .b)
      #expect(
        try await eventually {
          let link = await proxy.links().first
          return link?.state == .interrupted && link?.reason != nil
        })
      line.restore()
      #expect(try await eventually { await proxy.links().first?.state == .up })
      #expect(try await eventually { await proxy.links().first?.line?.resumes == 1 })
      #expect(try await eventually { states.all.suffix(3) == [.up, .interrupted, .up] })
      watching.cancel()
      await watching.value
      #expect(await local.links().map(\.state) != [.idle])
      await local.shutDown()
      await proxy.stop(within: .zero)
      await gateway.stop(within: .zero)
      line.close()
    }
  }
}

/// A record of states that differ from the previous one.
private final class States: Sendable {
  private let states = Mutex<[LinkState]>([])

  var all: [LinkState] { states.withLock { $0 } }

  func add(_ state: LinkState) {
    states.withLock { if $0.last != state { $0.append(state) } }
  }
}
