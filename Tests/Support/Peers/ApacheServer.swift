package import TestTools

/// An Apache httpd process that requires a login: Digest under `/digest`, Basic under `/basic`. Each folder contains one
/// file with the folder's name.
package final class ApacheServer: Sendable {
  package static let user = "Mufasa"
  package static let password = "Circle of Life"

  package let endpoint: Endpoint
  private let process: ChildProcess

  /// - Parameter nonceLifetime: in seconds; an older nonce is stale.
  package init(in folder: TemporaryFolder, nonceLifetime: Int = 300) async throws {
    endpoint = try .tcp(Endpoint.freePort())
    // MD5 of "Mufasa:the vault:Circle of Life".
    try folder.write("\(Self.user):the vault:65f4490d4396f0e7123dd7f19392301f\n", to: "digest.users")
    try folder.write(ApacheConfiguration.basicUsers, to: "basic.users")
    for name in ["digest", "basic"] { try folder.write("behind \(name)\n", to: name) }
    let configuration = try folder.write(Self.configuration(folder, endpoint, nonceLifetime), to: "httpd.conf")
    process = try ChildProcess(Program.apache.path(), ["-X", "-f", configuration])
    try await endpoint.waitUntilReachable(by: process)
  }

  package func stop() async {
    await process.stop()
  }

  private static func configuration(_ folder: TemporaryFolder, _ endpoint: Endpoint, _ nonceLifetime: Int) -> String {
    let head = ApacheConfiguration.head(folder, endpoint, name: "device", modules: ["auth_digest"])
    return """
      \(head)
      DocumentRoot \(folder.path)
      <Location "/digest">
        AuthType Digest
        AuthName "the vault"
        AuthUserFile \(folder["digest.users"])
        AuthDigestNonceLifetime \(nonceLifetime)
        Require valid-user
      </Location>
      <Location "/basic">
        AuthType Basic
        AuthName "the porch"
        AuthUserFile \(folder["basic.users"])
        Require valid-user
      </Location>

      """
  }
}
