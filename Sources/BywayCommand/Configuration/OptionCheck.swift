import Byway
import BywayPrimitives

/// A check of an option's value against the system: whether a file exists, or a folder is writable. It changes nothing.
struct OptionCheck {
  /// `--stub`
  let option: String
  /// The value as it was given; `nil` if the option takes only one.
  let value: String?
  let run: () throws -> Void

  init(_ option: String, _ value: String? = nil, _ run: @escaping () throws -> Void) {
    self.option = option
    self.value = value
    self.run = run
  }

  /// Returns a check of a file that is read at the start.
  static func reading(_ option: String, _ path: String?, _ read: @escaping (String) throws -> Void) -> [OptionCheck] {
    guard let path else { return [] }
    return [OptionCheck(option) { try read(path) }]
  }

  static func writing(file path: String?, _ option: String) -> [OptionCheck] {
    guard let path else { return [] }
    return [OptionCheck(option) { try CreationCheck.check(file: path) }]
  }

  static func writing(folder path: String?, _ option: String) -> [OptionCheck] {
    guard let path else { return [] }
    return [OptionCheck(option) { try CreationCheck.check(folder: path) }]
  }
}

/// A link of a gateway or proxy, with the option that names it and the way it is opened.
struct OptionLink {
  let option: String
  /// The value as it was given.
  let value: String?
  let link: Link
  let opening: Link.Opening

  var check: OptionCheck {
    OptionCheck(option, value) { try link.transport.check(link.address, for: opening) }
  }

  fileprivate static func internetPlace(_ address: LinkAddress) -> (host: String, port: Int)? {
    let usualPorts = ["ws": 80, "wss": 443]
    guard ["tcp", "tls", "ws", "wss"].contains(address.scheme), let place = try? address.hostPort(),
      let port = place.port ?? usualPorts[address.scheme]
    else { return nil }
    let host = place.host.lowercased()
    return (host == "localhost" ? "127.0.0.1" : host, port)
  }
}

/// The places and lines that can have only one user.
struct TakenPlaces<Owner> {
  private enum Key: Hashable {
    case line(String)
    case place(String)
    case text(String)
    case port(Int, of: String)
    /// The port on every address of this machine.
    case portOfAll(Int)
    /// The port on any address.
    case somePort(Int)
  }

  private var owners: [Key: Owner] = [:]

  /// Returns the first owner of a line, or of a place to listen at, that a link would take.
  func owner(inTheWayOf link: OptionLink) -> Owner? {
    keys(of: link).lookedUp.lazy.compactMap { owners[$0] }.first
  }

  mutating func take(_ link: OptionLink, for owner: Owner) {
    for key in keys(of: link).taken where owners[key] == nil { owners[key] = owner }
  }

  private func keys(of link: OptionLink) -> (lookedUp: [Key], taken: [Key]) {
    let address = link.link.address
    let line = link.link.isLine ? [Key.line(address.place)] : []
    guard link.opening == .listen else { return (line, line) }
    guard let (host, port) = OptionLink.internetPlace(address) else {
      // If another machine listens for this one, the options of the address say where.
      let own = address.authority == nil ? Key.place(address.place) : .text(address.text)
      return (line + [own], line + [own])
    }
    guard port != 0 else { return (line, line) }
    if ["0.0.0.0", "::", "[::]"].contains(host) { return ([.somePort(port)], [.portOfAll(port), .somePort(port)]) }
    return ([.portOfAll(port), .port(port, of: host)], [.port(port, of: host), .somePort(port)])
  }
}
