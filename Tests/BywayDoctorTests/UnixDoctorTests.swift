import Byway
import BywayDoctor
import BywayGateway
import Glibc
import HTTPTypes
import TestTools
import Testing
import UnixTransport

/// Links over Unix sockets, working and failing.
@Suite("Doctor: Unix sockets", .timeLimit(.minutes(2))) struct UnixDoctorTests: ExaminingSuite {
  private let folder: TemporaryFolder
  let transports = TransportRegistry([UnixTransport()])

  init() throws { folder = try TemporaryFolder() }

  private func gateway(_ origin: Origin) async throws -> Gateway {
    try await Gateway.start(
      GatewayConfiguration(links: [try transports.link("unix:\(folder["s"])")], origin: origin))
  }

  @Test("the doctor reports a gateway on a Unix socket as sound")
  func sound() async throws {
    let gateway = try await gateway(.handler { _ in Response(status: .ok) })
    let report = try await examine("unix:\(folder["s"])")
    #expect(report.expects(nil), "\(report.json)")
    await gateway.stop(within: .zero)
  }

  @Test("the doctor reports a missing file, a regular file and a stale socket")
  func files() async throws {
    #expect(try await examine("unix:\(folder["missing"])").expects(.noFile))
    try folder.write("x", to: "regular")
    #expect(try await examine("unix:\(folder["regular"])").expects(.notASocket))
  }

  @Test("the doctor reports a gateway on a Unix socket whose origin is unreachable")
  func noOrigin() async throws {
    let gateway = try await gateway(Origin("unix:\(folder["o"])"))
    #expect(try await examine("unix:\(folder["s"])").expects(.noOrigin))
    await gateway.stop(within: .zero)
  }
}
