import TestPeers
import Testing

/// A network with an Avahi daemon that is restarted.
@Suite("Devices in DNS-SD") struct PublishingTests {
  private struct Service: Decodable, Equatable {
    let title: String
    let kind: String
    let host: String
    let address: String
    let port: Int
  }

  private struct Report: Decodable {
    let published: [Service]
    let again: [Service]
    let addresses: String
    let afterwards: [Service]
    let status: Int
    let log: String
  }

  @Test(
    "a proxy publishes devices with their titles by DNS-SD, also after Avahi restarts, and withdraws them at the end")
  func published() async throws {
    let byway = try BywayProcess.command()
    let report: Report = try await Script.lan.run(
      "--", byway, "proxy", "--listen", "0.0.0.0:8080", "--listen-anywhere", "--suffix", "local", "--discover",
      "dns-sd", "--device", "printer=unix:/nowhere/p", "--device-title", "printer=Drucker im „Flur“", "--device",
      "camera=unix:/nowhere/c")
    let services = [
      Service(title: "camera", kind: "_http._tcp", host: "camera.local", address: "192.0.2.7", port: 8080),
      Service(title: "Drucker im „Flur“", kind: "_http._tcp", host: "printer.local", address: "192.0.2.7", port: 8080),
    ]
    #expect(report.published == services, "\(report.log)")
    #expect(report.again == services, "\(report.log)")
    #expect(report.addresses == "camera.local\t192.0.2.7\nprinter.local\t192.0.2.7\n")
    #expect(report.afterwards.isEmpty && report.status == 0, "\(report.log)")
    #expect(report.log.contains("Avahi's daemon has gone."))
  }
}
