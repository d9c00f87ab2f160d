import Byway
import BywayDoctor
import BywayGateway
import BywayLineDevices
import BywayLineEmulation
import HTTPTypes
import Logging
import SerialTransport
import TCPTransport
import TestTools
import UnixTransport

/// An emulated line: the doctor is at end a, the device at end b.
final class LineRig: Sendable {
  static let transports = TransportRegistry([SerialTransport(), UnixTransport(), TCPTransport()])

  let folder: TemporaryFolder
  let line: PseudoTerminalLine
  private let baud: Int

  /// - Parameter back: the direction to the doctor, if it differs.
  init(_ configuration: LineConfiguration = LineConfiguration(), back: LineConfiguration? = nil) throws {
    folder = try TemporaryFolder()
    baud = configuration.baud
    line = try PseudoTerminalLine(configuration, back: back, paths: (folder["a"], folder["b"]))
  }

  var near: String { "serial:\(folder["a"])?baud=\(baud)" }
  var far: String { "serial:\(folder["b"])?baud=\(baud)" }

  func gateway(origin: Origin = .handler { _ in Response(status: .ok) }) async throws -> Gateway {
    var configuration = GatewayConfiguration(links: [try Self.transports.link(far)], origin: origin)
    configuration.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    return try await Gateway.start(configuration)
  }

  func examine() async throws -> Report { try await Self.examine(near) }

  /// Examines a link, and repeats an examination that timed out on a busy machine.
  static func examine(_ link: String) async throws -> Report {
    let doctor = Doctor(transports)
    for _ in 0..<2 {
      let report = await doctor.examine(try transports.link(link))
      guard case .unfinished = report.verdict, !Task.isCancelled else { return report }
    }
    return await doctor.examine(try transports.link(link))
  }
}
