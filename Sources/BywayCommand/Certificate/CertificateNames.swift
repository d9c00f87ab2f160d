import BywayHTTPWire
import BywayTLSInterception
import BywayTerminal

/// The names in the certificate of a device.
struct CertificateNames {
  let hosts: [CertifiedHost]
  /// The names as text, in the same order.
  let texts: [String]
  /// The name of its files.
  let file: String

  /// - Throws: ``CommandFailure`` if one is not a name or an address.
  init(_ name: String, dns: [String], addresses: [String]) throws(CommandFailure) {
    var texts: [String] = []
    var hosts: [CertifiedHost] = []
    func add(_ host: CertifiedHost, _ text: String) {
      guard !texts.contains(text) else { return }
      texts.append(text)
      hosts.append(host)
    }
    let main = try Self.host(name, "NAME")
    add(CertifiedHost(main), main.description)
    // The users of a proxy on the same machine write NAME.localhost.
    if case .name(let text) = main, !text.contains("."), text != "localhost" {
      add(CertifiedHost(.name("\(text).localhost")), "\(text).localhost")
    }
    for text in dns {
      let isPattern = text.hasPrefix("*.")
      let host = try Self.host(isPattern ? String(text.dropFirst(2)) : text, "--dns")
      guard case .name(let name) = host, let all = CertifiedHost.all(below: host) else {
        throw CommandFailure(.usage, "--dns \(text) is an address: write --address \(text).")
      }
      isPattern ? add(all, "*.\(name)") : add(CertifiedHost(host), name)
    }
    for text in addresses {
      let host = try Self.host(text, "--address")
      if case .name = host { throw CommandFailure(.usage, "--address \(text) is a name: write --dns \(text).") }
      add(CertifiedHost(host), host.description)
    }
    (self.hosts, self.texts, file) = (hosts, texts, main.description)
  }

  private static func host(_ text: String, _ option: String) throws(CommandFailure) -> Host {
    do {
      return try Host(text)
    } catch {
      throw CommandFailure(
        .usage, "\(option) \"\(text)\" is not a host name or an IP address: write letters, digits, - and dots.")
    }
  }
}
