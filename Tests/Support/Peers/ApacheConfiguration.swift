import TestTools

/// What every httpd of a test is told: all that it writes is in its folder, and it loads these modules and no others.
enum ApacheConfiguration {
  /// One user, "Mufasa", with what `openssl passwd -apr1` makes of "Circle of Life".
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
