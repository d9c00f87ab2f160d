import Byway
import BywayPrimitives
import NIOCore

/// The parts of an `mqtt:` or `mqtts:` address.
struct MQTTTarget: Sendable {
  static let plainOptions = [
    LinkOption("password", "file, or env:NAME for the environment variable, that holds the user's password"),
    LinkOption("insecure", "yes: use a broker on another machine without TLS"),
  ]
  static let secureOptions = [
    plainOptions[0],
    LinkOption("ca", "PEM file of the authorities that the broker's certificate must come from"),
    LinkOption("cert", "PEM file of this end's certificate chain"),
    LinkOption("key", "PEM file of this end's private key"),
  ]

  let address: LinkAddress
  let host: String
  let port: Int
  let topics: LinkTopics
  let isSecure: Bool
  private let user: String?
  private let password: PasswordSource?
  private let ca: String?
  private let identity: (cert: String, key: String)?

  init(_ address: LinkAddress) throws {
    self.address = address
    isSecure = address.scheme == "mqtts"
    let place = try address.hostPort()
    host = place.host
    port = place.port ?? (isSecure ? 8883 : 1883)
    guard port != 0 else {
      throw BywayError(.invalidAddress, "\(address) has the port 0: write the port of the broker.")
    }
    topics = try LinkTopics(address)
    for option in ["password", "ca", "cert", "key"] where address[option: option] == "" {
      throw BywayError(.invalidAddress, "\(option)= in \(address) is empty: give it a value, or leave it out.")
    }
    user = try Self.user(place.user, of: address)
    password = address[option: "password"].map(PasswordSource.init)
    guard password == nil || user != nil else {
      throw BywayError(
        .invalidAddress, "\(address) has a password without a user: write \(address.scheme)://USER@\(host)/….")
    }
    ca = address[option: "ca"]
    switch (address[option: "cert"], address[option: "key"]) {
    case (let cert?, let key?): identity = (cert, key)
    case (nil, nil): identity = nil
    default: throw BywayError(.invalidAddress, "\(address) needs both cert=FILE and key=FILE, or neither.")
    }
    try checkPrivacy()
  }

  private static func user(_ text: String?, of address: LinkAddress) throws -> String? {
    guard let text else { return nil }
    guard let name = PercentEncoding.decode(text), !name.isEmpty, !name.contains(":"), !name.contains("\0") else {
      // The text may contain a password, which no message shows.
      throw BywayError(
        .invalidAddress,
        "The user in an \(address.scheme): address must not contain a password or a colon: use password=FILE.")
    }
    return name
  }

  /// Plain connections do not leave this machine, unless the user permits it.
  private func checkPrivacy() throws {
    let isInsecure = try address.isInsecure()
    guard !isSecure, !isInsecure else { return }
    let name = host.lowercased()
    let isLoopback =
      name == "localhost" || name.hasSuffix(".localhost")
      || (try? SocketAddress(ipAddress: host, port: 0))?.isLoopback == true
    if isLoopback { return }
    throw BywayError(
      .invalidAddress,
      "The broker of \(address) is not on this machine, and mqtt: protects nothing: use mqtts:, or add insecure=yes.")
  }

  /// The host and port, for messages.
  var place: String { "\(LinkAddress.HostPort(host: host, port: port))" }

  /// Reads the files that the address names.
  /// - Parameter code: the code of errors.
  func settings(clientID: String, code: BywayError.Code = .linkUnavailable) throws -> BrokerSettings {
    var settings = BrokerSettings(host: host, port: port, clientID: clientID)
    settings.user = user
    settings.password = try password?.read(code: code)
    guard isSecure else { return settings }
    if let ca { try Self.check(ca, "ca", code) }
    if let identity {
      try Self.check(identity.cert, "cert", code)
      let key = try Self.check(identity.key, "key", code)
      if let exposure = FileExposure(key.status, for: .group) {
        throw BywayError(code, "\(identity.key) (key=): \(exposure).", processing: .none)
      }
    }
    settings.tls = BrokerSettings.TLS(ca: ca, identity: identity)
    return settings
  }

  @discardableResult
  private static func check(_ path: String, _ option: String, _ code: BywayError.Code) throws -> SmallFile {
    do throws(SmallFile.Failure) {
      return try SmallFile(path, limit: 1 << 20)
    } catch {
      throw BywayError(code, "Cannot read \(path) (\(option)=): \(error).", processing: .none)
    }
  }
}
