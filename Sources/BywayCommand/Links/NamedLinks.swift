import Byway
import BywayDaemon
import BywayGatewayProgram
import BywayLibC
import BywayPrimitives
import BywayTerminal

/// The names of links: lines of `name = address` in the user's `~/.config/byway/links` and the administrator's `/etc/byway/links`.
/// If a name is in both, the user's counts.
struct NamedLinks: Sendable {
  struct Entry: Sendable, Hashable {
    let name: String
    let address: String
    /// The file and line: `FILE, line 3`.
    let place: String
  }

  static let systemPath = "/etc/byway/links"

  /// The entries, sorted by name.
  let entries: [Entry]

  /// Reads the files that exist.
  /// - Throws: ``CommandFailure`` with the file and the line.
  init() throws {
    // A daemon may have no home folder.
    let own = try? ConfigurationFolder("links").path
    try self.init(files: [own, Self.systemPath].compactMap(\.self).filter { access($0, F_OK) == 0 })
  }

  /// - Parameter files: The first file that has a name counts.
  init(files: [String]) throws {
    var known: [String: Entry] = [:]
    for path in files {
      let file = ConfigurationFile(try TextFile.read(path, ofUser: true), path: path)
      if let flaw = file.failures.first { throw flaw.failure }
      var lines: [String: Int] = [:]
      for line in file.entries {
        let place = "\(path), line \(line.line)"
        guard ShortName.isValid(line.name) else {
          throw CommandFailure(
            .usage, "\(place): \"\(line.name)\" cannot be a link's name: use letters, digits, -, _ and dots.")
        }
        if let before = lines.updateValue(line.line, forKey: line.name) {
          throw CommandFailure(.usage, "\(place): \(line.name) is already the name of a link on line \(before).")
        }
        if known[line.name] == nil { known[line.name] = Entry(name: line.name, address: line.value, place: place) }
      }
    }
    entries = known.values.sorted { $0.name < $1.name }
  }

  subscript(name: String) -> Entry? { entries.first { $0.name == name } }

  /// Returns the link of an entry, with further options at its end: `&http=1.1`.
  func link(_ entry: Entry, options: Substring = "", isHub: Bool = false, in transports: TransportRegistry) throws
    -> Link
  {
    let separator = options.isEmpty ? "" : entry.address.contains("?") ? "&" : "?"
    do {
      let text = entry.address + separator + options
      return try isHub ? transports.hub(LinkAddress(text)) : transports.link(text)
    } catch var error as BywayError {
      error.message = "\(entry.place): \(error.message)"
      throw error
    }
  }
}

extension TransportRegistry {
  /// Returns a link as users write it after --link: an address or a name, both with options.
  /// - Parameters:
  ///   - isProgram: Whether a program is what users name there most often.
  ///   - isHub: Whether gateways dial it.
  /// - Throws: ``CommandFailure`` or ``BywayError``.
  func link(named text: String, isProgram: Bool = false, isHub: Bool = false) throws -> Link {
    let name = text.prefix { $0 != "?" }
    let place = BarePlace(name, besides: schemes)
    guard ShortName.isValid(name) else {
      if let place { throw place.failure(name, isProgram: isProgram) }
      return try isHub ? hub(LinkAddress(text)) : link(text)
    }
    let namedLinks = try NamedLinks()
    guard let entry = namedLinks[String(name)] else {
      if let place { throw place.failure(name, isProgram: isProgram) }
      if (try? FileStatus(of: String(name))) != nil {
        throw BarePlace.path.failure("./\(name)", isProgram: isProgram)
      }
      throw CommandFailure(
        .usage,
        "No link is called \"\(name)\".\(Spelling.hint(for: String(name), among: namedLinks.entries.map(\.name))) An address has a "
          + "scheme, for example unix:/run/byway.sock; \"byway links\" lists the names.")
    }
    return try namedLinks.link(entry, options: text.dropFirst(name.count + 1), isHub: isHub, in: self)
  }
}
