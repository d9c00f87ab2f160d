import Byway
import BywayInterceptors
import HTTPTypes

/// The rules for what a plugin may change in the requests that it sends on, and in its response. A pure value.
struct ForwardingRules: Sendable {
  /// The reason why a message of a plugin is not passed on, as the end of a sentence.
  struct Refusal: Error, Hashable {
    let reason: String

    init(_ reason: String) {
      self.reason = reason
    }
  }

  /// The hosts of the plugin's scope; empty: any.
  let hosts: [String]

  /// Fields that belong to one connection (RFC 9110 §7.6.1).
  private static let connectionFields = [
    HTTPField.Name.connection, .known("keep-alive"), .known("proxy-connection"), .upgrade,
  ]
  /// The marks of the serving connection at the next hop.
  private static let marks = [
    HTTPField.Name.targetForm, .known("byway-upgrade-method"), .known("byway-upgrade-length"),
  ]
  private static let ownFields = [HTTPField.Name.exchange, .next]
  /// The mark of the connection to a plugin that speaks HTTP/1.1.
  private static let upgradeStatus = HTTPField.Name.known("byway-upgrade-status")

  /// Returns the head of a request as it continues: it has the properties of the client's request that a plugin cannot see or must not
  /// change.
  /// - Parameters:
  ///   - sent: the head as the plugin has sent it.
  ///   - original: the head that the plugin has received, before anything was removed for it.
  func forwarded(_ sent: HTTPRequest, of original: HTTPRequest) throws(Refusal) -> HTTPRequest {
    try checkHost(sent)
    try checkTunnel(sent, original)
    try checkFraming(sent)
    try checkConnectionFields(sent.headerFields)
    try checkOwnFields(sent, original)
    var head = sent
    head.scheme = original.scheme
    for name in Self.ownFields { head.headerFields[name] = nil }
    for name in [HTTPField.Name.targetForm, .proxyAuthorization] {
      head.headerFields[name] = nil
      head.headerFields[fields: name] = original.headerFields[fields: name]
    }
    return head
  }

  /// - Parameter vouched: fields of Byway that the responses of the next hop have had.
  func check(response: HTTPFields, vouched: [HTTPField]) throws(Refusal) {
    for field in response where field.name.isByways {
      if [.note, Self.upgradeStatus].contains(field.name) { continue }
      if vouched.contains(where: { $0.name == field.name && $0.value == field.value }) { continue }
      throw Refusal("its response has the field \(field.name.canonicalName), which belongs to Byway")
    }
  }

  private func checkHost(_ sent: HTTPRequest) throws(Refusal) {
    if hosts.isEmpty || Scope(hosts: hosts).contains(sent) { return }
    let host = sent.authority.map { "the host \($0)" } ?? "no host"
    throw Refusal("it has sent a request for \(host) on, and its scope is \(hosts.joined(separator: ", "))")
  }

  /// A tunnel carries no messages that could be checked. WebSockets and upgrades are requests with a protocol.
  private func checkTunnel(_ sent: HTTPRequest, _ original: HTTPRequest) throws(Refusal) {
    if (sent.kind == .connect) == (original.kind == .connect) { return }
    throw Refusal("it has changed the method \(original.method) to \(sent.method)")
  }

  private func checkFraming(_ sent: HTTPRequest) throws(Refusal) {
    if sent.headerFields.contains(.transferEncoding) {
      throw Refusal("it has sent the field transfer-encoding on, which frames a message")
    }
    let lengths = sent.headerFields[values: .contentLength]
    if lengths.isEmpty { return }
    if sent.kind.asksForTunnel { throw Refusal("it has added content-length to a tunnel") }
    let isLength =
      lengths[0].utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } && lengths[0] != ""
    guard lengths.count == 1, isLength else { throw Refusal("its content-length is not one number") }
  }

  private func checkConnectionFields(_ fields: HTTPFields) throws(Refusal) {
    if let name = Self.connectionFields.first(where: { fields.contains($0) }) {
      throw Refusal("it has sent the field \(name.canonicalName) on, which belongs to one connection")
    }
    guard let value = fields[values: .te].first(where: { $0.lowercased() != "trailers" }) else { return }
    throw Refusal("it has sent te: \(value) on, which belongs to one connection")
  }

  /// A field of Byway may be left out, and must not be added or changed. The credentials for this hop are not the plugin's.
  private func checkOwnFields(_ sent: HTTPRequest, _ original: HTTPRequest) throws(Refusal) {
    if sent.headerFields.contains(.proxyAuthorization) {
      throw Refusal("it has sent proxy-authorization on, which is for Byway alone")
    }
    for field in sent.headerFields where field.name.isByways {
      if Self.ownFields.contains(field.name) || Self.marks.contains(field.name) { continue }
      guard !original.headerFields[values: field.name].contains(field.value) else { continue }
      throw Refusal("it has set the field \(field.name.canonicalName), which belongs to Byway")
    }
  }
}
