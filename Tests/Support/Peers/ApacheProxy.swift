import Foundation
import TestTools

/// Apache httpd as an HTTP proxy for http and CONNECT, with or without a login.
package final class ApacheProxy: Sendable {
  package static let user = "Mufasa"
  package static let password = "Circle of Life"

  package let endpoint: Endpoint
  private let folder: TemporaryFolder
  private let process: ChildProcess

  package init(asksForLogin: Bool = false) async throws {
    let folder = try TemporaryFolder()
    let endpoint = try Endpoint.tcp(Endpoint.freePort())
    try folder.write(ApacheConfiguration.basicUsers, to: "users")
    let configuration = try folder.write(Self.configuration(folder, endpoint, asksForLogin), to: "httpd.conf")
    process = try ChildProcess(Program.apache.path(), ["-X", "-f", configuration])
    self.folder = folder
    self.endpoint = endpoint
    try await endpoint.waitUntilReachable(by: process)
  }

  /// Returns the request lines that the proxy received, such as `CONNECT device:443 HTTP/1.1`.
  package func requests() throws -> [String] {
    try String(contentsOfFile: folder["access.log"], encoding: .utf8).split(separator: "\n").map(String.init)
  }

  package func stop() async {
    await process.stop()
  }

  private static func configuration(_ folder: TemporaryFolder, _ endpoint: Endpoint, _ asksForLogin: Bool) -> String {
    let head = ApacheConfiguration.head(
      folder, endpoint, name: "proxy", modules: ["proxy", "proxy_http", "proxy_connect"])
    let login = """
      AuthType Basic
      AuthName "the way out"
      AuthUserFile \(folder["users"])
      Require valid-user
      """
    return """
      \(head)
      LogFormat "%r" line
      CustomLog \(folder["access.log"]) line
      ProxyRequests On
      AllowCONNECT 1-65535
      <Proxy "*">
        \(asksForLogin ? login : "Require all granted")
      </Proxy>

      """
  }
}
