import Byway
import BywayLibC
import BywayPrimitives

/// Reads ssh_config(5) for one host: resolves the blocks that apply and the included files, and collects the values. Blocks.
struct ConfigReader {
  private static let maximumDepth = 16
  /// Limits a file that includes itself through a pattern: without it, the reads would multiply before the depth limit applies.
  private static let maximumFiles = 256
  private static let fileLimit = 4 << 20

  private let alias: String
  private let account: LocalAccount
  private var fileCount = 0
  private(set) var values = ConfigValues()
  /// `FILE:LINE: KEYWORD` of each line that applies to the host and is not understood.
  private(set) var ignored: [String] = []
  /// The place (`FILE:LINE`) of a ProxyCommand that applies to the host.
  private(set) var proxyCommand: String?
  /// The names in `Host` lines that are not patterns.
  private(set) var aliases: [String] = []

  init(alias: String, account: LocalAccount) {
    self.alias = alias
    self.account = account
  }

  /// The owner of a file. It decides where relative `Include`s are looked up, and who may write to the file.
  enum Kind: Equatable {
    case user
    case system
    /// The file that the user named. It must exist.
    case named
  }

  mutating func read(_ path: String, _ kind: Kind) throws(BywayError) {
    try read(path, kind, depth: 0)
  }

  private mutating func read(_ path: String, _ kind: Kind, depth: Int) throws(BywayError) {
    fileCount += 1
    guard depth <= Self.maximumDepth, fileCount <= Self.maximumFiles else {
      throw problem("\(path) is included too deeply or too often", "does a file include itself?")
    }
    guard let text = try text(of: path, kind, isIncluded: depth > 0) else { return }
    var applies = true
    for (index, line) in text.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      let place = "\(path):\(index + 1)"
      let line = try parse(line, place)
      guard let line else { continue }
      switch line.keyword {
      case "host":
        applies = PatternList.matches(alias, line.words)
        aliases += line.words.filter { !$0.utf8.contains(where: "*?!".utf8.contains) }
      case "match":
        applies = line.words.map { $0.lowercased() } == ["all"]
        if !applies { ignored.append("\(place): Match \(line.words.joined(separator: " "))") }
      case _ where !applies:
        continue
      case "include":
        for file in files(line.words, kind) { try read(file, kind, depth: depth + 1) }
      default:
        try take(line, place)
      }
    }
  }

  private mutating func take(_ line: ConfigLine, _ place: String) throws(BywayError) {
    do throws(ConfigLine.Problem) {
      if try values.take(line) { return }
      ignored.append("\(place): \(line.spelling)")
      if line.keyword == "proxycommand", proxyCommand == nil, line.words.first?.lowercased() != "none" {
        proxyCommand = place
      }
    } catch {
      throw problem("\(place): \(error.message)", "correct that line.")
    }
  }

  private func parse(_ line: ArraySlice<UInt8>, _ place: String) throws(BywayError) -> ConfigLine? {
    do throws(ConfigLine.Problem) {
      return try ConfigLine(String(decoding: line, as: UTF8.self))
    } catch {
      throw problem("\(place): \(error.message)", "correct that line.")
    }
  }

  /// Relative names are in `~/.ssh`, or next to the system's file. A pattern without a match is ignored.
  private func files(_ patterns: [String], _ kind: Kind) -> [String] {
    let folder = kind == .system ? account.systemFolder : "\(account.home)/.ssh"
    return patterns.flatMap { pattern in
      let pattern = account.expandingHome(pattern)
      var found = glob_t()
      defer { globfree(&found) }
      guard glob(pattern.hasPrefix("/") ? pattern : "\(folder)/\(pattern)", 0, nil, &found) == 0 else {
        return [String]()
      }
      return (0..<Int(found.gl_pathc)).compactMap { found.gl_pathv[$0].map { String(cString: $0) } }
    }
  }

  /// - Returns: `nil` if the file does not exist and is not required.
  private func text(of path: String, _ kind: Kind, isIncluded: Bool) throws(BywayError) -> [UInt8]? {
    let file: SmallFile
    do {
      file = try SmallFile(path, limit: Self.fileLimit)
    } catch .missing where kind != .named || isIncluded {
      return nil
    } catch .refused(.system(SystemError(code: EACCES))) where kind == .system || isIncluded {
      return nil
    } catch {
      throw problem("Cannot read \(path): \(error)", "check config= in the address, or the file.")
    }
    // Anyone who can write to this file could redirect us to a host of their choice.
    if kind == .user,
      file.status.permissions & 0o022 != 0 || (file.status.owner != 0 && file.status.owner != account.id)
    {
      throw problem("\(path) belongs to another user, or other users can change it", "run chmod go-w on it, or chown.")
    }
    return file.bytes
  }

  private func problem(_ what: String, _ advice: String) -> BywayError {
    BywayError(.linkUnavailable, "\(what): \(advice)", processing: .none)
  }
}
