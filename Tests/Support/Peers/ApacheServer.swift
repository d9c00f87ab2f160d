/// Apache httpd, one process, which asks for a login: by Digest under `/digest`, by Basic under `/basic`. Each has one
/// file of that name to give.
package final class ApacheServer: Sendable {
  package static let user = "Mufasa"
  package static let password = "Circle of Life"

  package let endpoint: Endpoint
  private let process: ChildProcess

  /// - Parameter nonceLifetime: in seconds; an older nonce is stale.
  package init(in folder: TemporaryFolder, nonceLifetime: Int = 300) async throws {
    endpoint = try .tcp(Endpoint.freePort())
    // MD5 of "Mufasa:the vault:Circle of Life", and what `openssl passwd -apr1` makes of the password.
    try folder.write("\(Self.user):the vault:65f4490d4396f0e7123dd7f19392301f\n", to: "digest.users")
    try folder.write("\(Self.user):$apr1$12345678$hvOdOwtKWStnsU8Rvpnzm/\n", to: "basic.users")
    for name in ["digest", "basic"] { try folder.write("behind \(name)\n", to: name) }
    let configuration = try folder.write(Self.configuration(folder, endpoint, nonceLifetime), to: "httpd.conf")
    process = try ChildProcess(Program.apache.path(), ["-X", "-f", configuration])
    try await endpoint.waitUntilReachable(by: process)
  }

  package func stop() async {
    await process.stop()
  }

  private static func configuration(_ folder: TemporaryFolder, _ endpoint: Endpoint, _ nonceLifetime: Int) -> String {
    let modules = [
      "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_digest", "auth_basic",
    ].map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n")
    return """
      ServerRoot \(folder.path)
      DefaultRuntimeDir \(folder.path)
      PidFile \(folder["httpd.pid"])
      Mutex file:\(folder.path) default
      ErrorLog \(folder["error.log"])
      \(modules)
      User nobody
      Group nogroup
      ServerName device
      Listen \(endpoint)
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
