import Byway
import Glibc
import Primitives

/// The names that a user, or the administrator of the machine, has given to links: lines of `name = address` in
/// `~/.config/byway/links` and `/etc/byway/links`. A name that both have is the user's.
struct LinkBook: Sendable {
  struct Entry: Sendable, Hashable {
    let name: String
    let address: String
    /// `FILE, line 3`
    let place: String
  }

  static let systemPath = "/etc/byway/links"

  /// Sorted by name.
  let entries: [Entry]

  /// What is in both files, those that there are.
  /// - Throws: ``CommandFailure``, which names the file and the line.
  init() throws {
    // A daemon may have no home.
    let own = try? ConfigurationFolder("links").path
    try self.init(files: [own, Self.systemPath].compactMap(\.self).filter { access($0, F_OK) == 0 })
  }

  /// - Parameter files: the first that has a name counts.
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

  /// The link of an entry, with further options behind it: `&http=1.1`.
  func link(_ entry: Entry, options: Substring = "", in transports: TransportRegistry) throws -> Link {
    let separator = options.isEmpty ? "" : entry.address.contains("?") ? "&" : "?"
    do {
      return try transports.link(entry.address + separator + options)
    } catch var error as BywayError {
      error.message = "\(entry.place): \(error.message)"
      throw error
    }
  }
}

extension TransportRegistry {
  /// A link as people write it after --link: an address, or a name, both with options.
  /// - Throws: ``CommandFailure`` or ``BywayError``.
  func link(named text: String) throws -> Link {
    let name = text.prefix { $0 != "?" }
    guard ShortName.isValid(name) else { return try link(text) }
    let book = try LinkBook()
    guard let entry = book[String(name)] else {
      throw CommandFailure(
        .usage,
        "No link is called \"\(name)\".\(Spelling.hint(for: String(name), among: book.entries.map(\.name))) An address has a "
          + "scheme, for example unix:/run/byway.sock; \"byway links\" lists the names.")
    }
    return try book.link(entry, options: text.dropFirst(name.count + 1), in: self)
  }
}
