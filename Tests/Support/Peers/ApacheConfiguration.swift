import TestTools

/// The common configuration of Apache httpd in tests: it writes only to its own folder and loads only these modules.
enum ApacheConfiguration {
  /// A user file with one user, "Mufasa", and the hash of "Circle of Life" by `openssl passwd -apr1`.
  static let basicUsers = "Mufasa:$apr1$12345678$hvOdOwtKWStnsU8Rvpnzm/\n"

  static func head(_ folder: TemporaryFolder, _ endpoint: Endpoint, name: String, modules: [String]) -> String {
    let common = ["mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic"]
    let loads = (common + modules)
      .map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n")
    return """
      ServerRoot \(folder.path)
      DefaultRuntimeDir \(folder.path)
      PidFile \(folder["httpd.pid"])
      Mutex file:\(folder.path) default
      ErrorLog \(folder["error.log"])
      \(loads)
      User nobody
      Group nogroup
      ServerName \(name)
      Listen \(endpoint)
      """
  }
}
