import Foundation
import TestPeers
import TestTools
import Testing

@testable import BywayCommand

/// The page of a proxy that has no devices.
@Suite("First steps in the device list", .cleansUp) struct FirstStepsTests {
  private func page(of arguments: [String]) async throws -> String {
    let proxy = try await BywayProcess.proxy(arguments + ["--listen", "127.0.0.1:0"])
    let page = try await Curl.fetch("http://\(proxy.endpoint())/").text
    await proxy.process.stop()
    return page
  }

  @Test("a proxy that discovers devices says how to start a gateway, and lists the ports of the machine")
  func discovery() async throws {
    let folder = try TemporaryFolder()
    let page = try await page(of: ["--discover", "serial:\(folder.path)"])
    #expect(page.contains("<pre>byway gateway --link serial:/dev/ttyGS0 --name NAME"), "\(page)")
    #expect(page.contains("Ports of this machine") && !page.contains("--discover serial"), "\(page)")
    #expect(page.contains("No ports were found.") || page.contains("byway doctor"), "\(page)")
  }

  @Test("a proxy for a pattern of names shows the pattern's URL with its port, and how to discover devices")
  func pattern() async throws {
    let page = try await page(of: ["--device", "pi-{name}=unix:/nowhere/{name}"])
    let port = page.firstMatch(of: /http:\/\/pi-\{name\}\.127\.0\.0\.1/)
    #expect(port == nil && page.contains("pi-{name}.localhost:"), "\(page)")
    #expect(page.contains("<pre>--discover serial</pre>"), "\(page)")
  }

  @Test("a hub shows the command that dials it, without its own options, and no ports")
  func hub() async throws {
    let folder = try TemporaryFolder()
    let page = try await page(of: ["--hub", "unix:\(folder["hub"])?mode=0600"])
    #expect(page.contains("<pre>byway gateway --link 'unix:\(folder["hub"])?open=dial' --name NAME"), "\(page)")
    #expect(!page.contains("Ports of this machine") && !page.contains("mode=0600"), "\(page)")
  }
}
