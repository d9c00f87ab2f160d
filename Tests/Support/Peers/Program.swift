import Foundation

/// A program that a test needs, and the Debian package that contains it.
package struct Program: Sendable {
  package let name: String
  let package: String
  /// Paths tried before the search path.
  var preferred: [String] = []

  package static let nginx = Program(name: "nginx", package: "nginx-light", preferred: ["/usr/sbin/nginx"])
  package static let apache = Program(name: "apache2", package: "apache2-bin", preferred: ["/usr/sbin/apache2"])
  package static let haproxy = Program(name: "haproxy", package: "haproxy", preferred: ["/usr/sbin/haproxy"])
  package static let caddy = Program(name: "caddy", package: "caddy")
  package static let htpasswd = Program(name: "htpasswd", package: "apache2-utils")
  package static let curl = Program(name: "curl", package: "curl")
  package static let chromium = Program(name: "chromium", package: "chromium")
  package static let nghttp = Program(name: "nghttp", package: "nghttp2-client")
  package static let h2load = Program(name: "h2load", package: "nghttp2-client")
  package static let openssl = Program(name: "openssl", package: "openssl")
  package static let groff = Program(name: "groff", package: "groff-base")
  package static let prometheus = Program(name: "prometheus", package: "prometheus")
  package static let mosquitto = Program(
    name: "mosquitto", package: "mosquitto", preferred: ["/usr/sbin/mosquitto"])
  package static let mosquittoPassword = Program(name: "mosquitto_passwd", package: "mosquitto")
  package static let promtool = Program(name: "promtool", package: "prometheus")
  package static let bash = Program(name: "bash", package: "bash")
  package static let dash = Program(name: "dash", package: "dash")
  package static let prlimit = Program(name: "prlimit", package: "util-linux")
  static let install = Program(name: "install", package: "coreutils")
  package static let setpriv = Program(name: "setpriv", package: "util-linux")
  /// Debian's Python, for which python3-h2 is installed.
  package static let python = Program(name: "python3", package: "python3-h2", preferred: ["/usr/bin/python3"])

  /// Returns the program's path.
  /// - Throws: ``PeerFailure`` with the package to install.
  package func path() throws -> String {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
    let candidates = preferred + folders.map { "\($0)/\(name)" }
    guard let path = candidates.first(where: FileManager.default.isExecutableFile(atPath:)) else {
      throw PeerFailure("\(name) is not installed: apt install \(package)")
    }
    return path
  }

  /// Returns the path of a script in Tests/Support.
  static func script(_ name: String) -> String {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: name).path
  }
}
