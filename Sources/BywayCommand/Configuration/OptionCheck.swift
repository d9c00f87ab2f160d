import Byway
import Primitives

/// What only the world can say of an option's value: whether a file is there, or a folder can be written to. It changes nothing.
struct OptionCheck {
  /// `--stub`
  let option: String
  /// As it was given; `nil` where the option has one value only.
  let value: String?
  let run: () throws -> Void

  init(_ option: String, _ value: String? = nil, _ run: @escaping () throws -> Void) {
    self.option = option
    self.value = value
    self.run = run
  }

  /// Of a file that is read at the start. A pipe can be read once, and that is for the start to do.
  static func reading(_ option: String, _ path: String?, _ read: @escaping (String) throws -> Void) -> [OptionCheck] {
    guard let path else { return [] }
    return [OptionCheck(option) { if (try? FileStatus(of: path).kind) != .pipe { try read(path) } }]
  }

  static func writing(file path: String?, _ option: String) -> [OptionCheck] {
    guard let path else { return [] }
    return [OptionCheck(option) { try FuturePlace.check(file: path) }]
  }

  static func writing(folder path: String?, _ option: String) -> [OptionCheck] {
    guard let path else { return [] }
    return [OptionCheck(option) { try FuturePlace.check(folder: path) }]
  }
}

/// A link of a gateway or proxy, with the option that names it and what is done there.
struct OptionLink {
  let option: String
  /// As it was given.
  let value: String?
  let link: Link
  let opening: Link.Opening

  var check: OptionCheck {
    OptionCheck(option, value) { try link.transport.check(link.address, for: opening) }
  }

  /// Both would listen at one place, or use one line, which only one can have.
  func isInTheWay(of other: OptionLink) -> Bool {
    if link.isLine, other.link.isLine { return link.address.place == other.link.address.place }
    guard opening == .listen, other.opening == .listen else { return false }
    let (mine, theirs) = (link.address, other.link.address)
    guard let own = Self.internetPlace(mine), let foreign = Self.internetPlace(theirs) else {
      // What another machine listens on for us, its options say.
      return mine.authority == nil ? mine.place == theirs.place : mine.text == theirs.text
    }
    guard own.port != 0, own.port == foreign.port else { return false }
    return own.host == foreign.host || [own.host, foreign.host].contains { ["0.0.0.0", "::", "[::]"].contains($0) }
  }

  private static func internetPlace(_ address: LinkAddress) -> (host: String, port: Int)? {
    guard ["tcp", "tls"].contains(address.scheme), let place = try? address.hostPort(), let port = place.port else {
      return nil
    }
    let host = place.host.lowercased()
    return (host == "localhost" ? "127.0.0.1" : host, port)
  }
}
