import Byway
import BywayLibC
import BywayPrimitives
import BywayTerminal
import NIOCore

/// A folder of the user's settings, which no other user may write: below `$XDG_CONFIG_HOME/byway`, or `~/.config/byway`.
struct ConfigurationFolder: Sendable {
  private static let fileLimit = 1 << 20

  let path: String

  /// Chooses the folder, which is made when something is written.
  init(_ name: String) throws(CommandFailure) {
    func variable(_ name: String) -> String? {
      Environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
    guard let base = variable("XDG_CONFIG_HOME") ?? variable("HOME").map({ $0 + "/.config" }) else {
      throw CommandFailure(.cannotCreate, "There is no place for settings: set HOME or XDG_CONFIG_HOME.")
    }
    path = "\(base)/byway/\(name)"
  }

  private init(path: String) {
    self.path = path
  }

  func subfolder(_ name: String) -> ConfigurationFolder { ConfigurationFolder(path: "\(path)/\(name)") }

  /// Returns the names of its files, sorted; none if the folder does not exist. Names that begin with a dot are unfinished files.
  func names() throws(CommandFailure) -> [String] {
    guard let folder = try opened() else { return [] }
    do {
      return try folder.names().filter { !$0.hasPrefix(".") }.sorted()
    } catch {
      throw CommandFailure(.noInput, error.message)
    }
  }

  /// Opens a file. Returns `nil` if it does not exist.
  func file(_ name: String) throws(CommandFailure) -> OpenFile? {
    do {
      return try opened()?.file(name)
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure(.noInput, BywayError(error).message)
    }
  }

  /// Reads a file. Returns `nil` if it does not exist.
  func text(_ name: String) throws(CommandFailure) -> String? {
    guard let file = try file(name) else { return nil }
    guard file.size <= Self.fileLimit else {
      throw CommandFailure(.noInput, "\(file.path) is larger than 1 MiB: that is not a file of Byway's.")
    }
    do {
      return String(buffer: try file.readAll())
    } catch {
      throw CommandFailure(.noInput, BywayError(error).message)
    }
  }

  /// Writes a file that only its owner can read. It appears complete, or not at all.
  func write(_ text: String, to name: String, replacing: Bool = true) throws(CommandFailure) {
    let folder = try made()
    let draft = ".\(name).\(getpid()).\(UInt32.random(in: 0 ... .max))"
    do {
      let descriptor = try folder.open(draft, O_WRONLY | O_CREAT | O_EXCL)
      defer { close(descriptor) }
      try Descriptor.write(ByteBuffer(string: text), to: descriptor)
      try SystemError.check(fsync(descriptor))
      if replacing {
        try folder.rename(draft, to: name)
      } else {
        try folder.link(draft, to: name)
        try folder.remove(draft)
      }
    } catch {
      try? folder.remove(draft)
      throw CommandFailure(.cannotCreate, "Cannot write \(path)/\(name): \(error).")
    }
  }

  func remove(_ name: String) throws(CommandFailure) {
    do {
      try opened()?.remove(name)
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure(.cannotCreate, "Cannot remove \(path)/\(name): \(error).")
    }
  }

  func removeIfEmpty() {
    rmdir(path)
  }

  /// - Throws: If other users can change it.
  private func opened() throws(CommandFailure) -> TrustedFolder? {
    // HOME may be another user's, as after a change of user. A folder that this user cannot reach has nothing that they trust.
    if access(path, R_OK | X_OK) != 0, errno == EACCES { return nil }
    do {
      return try TrustedFolder.existing(path)
    } catch {
      throw CommandFailure(.noInput, error.message)
    }
  }

  private func made() throws(CommandFailure) -> TrustedFolder {
    do {
      return try TrustedFolder(path, making: .all)
    } catch {
      throw CommandFailure(.cannotCreate, error.message)
    }
  }
}
