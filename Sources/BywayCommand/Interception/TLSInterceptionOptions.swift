import ArgumentParser
import Byway
import BywayHTTPWire
import BywayProxy
import BywayTLS
import BywayTLSInterception
import BywayTerminal

/// Options for the decryption of https at the proxy.
struct TLSInterceptionOptions: ParsableArguments {
  @Option(
    name: .customLong("inspect-tls"),
    help: .value(
      "host,…", "Decrypt https to these hosts, with certificates of the local authority. See: byway trust authority."))
  var inspectTLS: [String] = []

  /// Applies the options. Call it after adding the interceptors that see the decrypted requests.
  /// - Throws: ``CommandFailure`` or ``BywayError`` if there is no authority, or a host is invalid.
  func apply(to configuration: inout ProxyConfiguration) throws {
    let hosts = try inspectTLS.flatMap { $0.split(separator: ",") }.map { try Self.pattern(String($0)) }
    guard !hosts.isEmpty else { return }
    guard configuration.devices.main.first?.framing == .http2 else {
      throw CommandFailure(.usage, "--inspect-tls needs a gateway at the other end of --link, not a server (http=1.1).")
    }
    configuration.termination = TLSInterceptor(of: hosts, by: try AuthorityStore().load())
    var policy = TLSPolicy()
    policy.trust = try TrustStore().trust()
    configuration.interceptors.append(EndToEndTLS(policy, hosts: hosts.map(\.description)))
    configuration.logger.warning(
      "https to these hosts is decrypted here",
      metadata: ["hosts": "\(hosts.map(\.description).joined(separator: " "))"])
  }

  private static func pattern(_ text: String) throws(CommandFailure) -> HostPattern {
    do throws(AuthorityFlaw) {
      let pattern = try HostPattern(text)
      if pattern != .any { return pattern }
    } catch {
      throw CommandFailure(.usage, "--inspect-tls: \(BywayError(.invalidAddress, place: text, error).message)")
    }
    throw CommandFailure(.usage, "--inspect-tls \(text): write host names, or *.DOMAIN for every host below a domain.")
  }
}
