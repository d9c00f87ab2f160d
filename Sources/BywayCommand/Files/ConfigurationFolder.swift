import Byway
import Glibc
import NIOCore

/// A folder of the user's settings, which nobody else may write: below `$XDG_CONFIG_HOME/byway`, or `~/.config/byway`.
struct ConfigurationFolder: Sendable {
  let path: String

  /// Is made when something is written.
  init(_ name: String) throws(CommandFailure) {
    func variable(_ name: String) -> String? {
      getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
    guard let base = variable("XDG_CONFIG_HOME") ?? variable("HOME").map({ $0 + "/.config" }) else {
      throw CommandFailure(.cannotCreate, "There is no place for settings: set HOME or XDG_CONFIG_HOME.")
    }
    path = "\(base)/byway/\(name)"
  }

  private init(path: String) {
    self.path = path
  }

  func subfolder(_ name: String) throws(CommandFailure) -> ConfigurationFolder {
    let folder = ConfigurationFolder(path: "\(path)/\(name)")
    try folder.make()
    return folder
  }

  /// `nil` where there is none.
  func existing(_ name: String) throws(CommandFailure) -> ConfigurationFolder? {
    let folder = ConfigurationFolder(path: "\(path)/\(name)")
    return try folder.check() ? folder : nil
  }

  /// What is in it, sorted; nothing where it does not exist. Names that begin with a dot are files in the making.
  func names() throws(CommandFailure) -> [String] {
    guard try check(), let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  /// A file that only its owner can read, there as a whole or not at all.
  /// - Returns: its path.
  @discardableResult
  func write(_ text: String, to name: String, replacing: Bool = true) throws(CommandFailure) -> String {
    try make()
    let target = "\(path)/\(name)"
    let draft = "\(path)/.\(name).\(getpid()).\(UInt32.random(in: 0 ... .max))"
    do {
      let descriptor = try Descriptor.open(draft, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
      defer { close(descriptor) }
      try Descriptor.write(ByteBuffer(string: text), to: descriptor)
      guard fsync(descriptor) == 0 else { throw Descriptor.Failure(code: errno) }
      // A link fails where the name is taken; a rename does not.
      guard replacing ? rename(draft, target) == 0 : link(draft, target) == 0 else {
        throw Descriptor.Failure(code: errno)
      }
      if !replacing { unlink(draft) }
    } catch {
      unlink(draft)
      throw CommandFailure(.cannotCreate, "Cannot write \(target): \(error).")
    }
    return target
  }

  func removeIfEmpty() {
    rmdir(path)
  }

  /// - Returns: whether it exists.
  /// - Throws: where others than the user can change it.
  private func check() throws(CommandFailure) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() || status.st_uid == 0,
      status.st_mode & 0o022 == 0
    else {
      throw CommandFailure(.noInput, "Others can write to \(path): chmod go-w it, and look at what is in it.")
    }
    return true
  }

  /// With its parents.
  private func make() throws(CommandFailure) {
    if try check() { return }
    var end = path.startIndex
    while let slash = path[path.index(after: end)...].firstIndex(of: "/") {
      end = slash
      mkdir(String(path[..<end]), 0o700)
    }
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw CommandFailure(.cannotCreate, "Cannot make \(path): \(Descriptor.Failure(code: errno)).")
    }
    _ = try check()
  }
}
