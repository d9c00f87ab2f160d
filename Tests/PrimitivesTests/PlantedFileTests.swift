import BywayPrimitives
import Glibc
import Testing

/// Files that another user has prepared where this user writes. The tests need root to act as two users.
@Suite("Files planted by other users") struct PlantedFileTests {
  private static let other: uid_t = 12_345

  /// A folder like /tmp, with a file of the user that must stay unchanged.
  private final class Shared {
    let path: String
    let victim: String

    init() throws {
      path = try Folder.makeTemporary(in: "/tmp", prefix: "byway-planted")
      chmod(path, 0o1777)
      victim = "\(path)/victim"
      try write("precious", to: victim)
    }

    deinit {
      for name in (try? Folder.names(in: path)) ?? [] { unlink("\(path)/\(name)") }
      rmdir(path)
    }

    func write(_ text: String, to path: String) throws {
      let descriptor = try Descriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
      defer { close(descriptor) }
      try Descriptor.write(text, to: descriptor)
    }

    func text(_ path: String) throws -> String? { try SmallFile(path, limit: 100).text }

    /// Changes an entry's owner. The folder belongs to a third user, so that its owner does not matter.
    func give(_ name: String, to owner: uid_t) throws {
      try #require(lchown("\(path)/\(name)", owner, owner) == 0)
    }
  }

  private enum Plant: CaseIterable {
    case link, danglingLink, pipe, hardLink, foreign, folder
  }

  private static func plant(_ plant: Plant, in shared: Shared) throws -> FileRefusal {
    let path = "\(shared.path)/f"
    switch plant {
    case .link:
      symlink(shared.victim, path)
      return .notRegular(.symbolicLink)
    case .danglingLink:
      symlink("\(shared.path)/new", path)
      return .notRegular(.symbolicLink)
    case .pipe:
      mkfifo(path, 0o666)
      return .notRegular(.pipe)
    case .hardLink:
      link(shared.victim, path)
      return .linked
    case .foreign:
      try shared.write("theirs", to: path)
      try shared.give("f", to: other)
      return .foreign(owner: other)
    case .folder:
      mkdir(path, 0o777)
      return .system(SystemError(code: EISDIR))
    }
  }

  @Test(
    "the user's own file is created or opened, and a file planted by another user is refused and kept",
    arguments: Plant.allCases, [false, true])
  private func own(_ plant: Plant, _ isNew: Bool) throws {
    let shared = try Shared()
    let path = "\(shared.path)/f"
    let refusal = try Self.plant(plant, in: shared)
    defer { rmdir(path) }
    for flags in [O_WRONLY, O_RDWR] {
      #expect(throws: refusal, "\(plant)") { try RegularFile.openOwn(path, flags, isNew: isNew) }
    }
    #expect(try shared.text(shared.victim) == "precious" && access("\(shared.path)/new", F_OK) != 0)
    if plant == .foreign { #expect(try shared.text(path) == "theirs") }
  }

  @Test("the user's own existing file is opened, or replaced if a new one is required")
  func old() throws {
    let shared = try Shared()
    let path = "\(shared.path)/f"
    close(try RegularFile.openOwn(path, O_RDWR, mode: 0o600))
    #expect(try FileStatus(of: path).permissions == 0o600)
    try shared.write("old", to: path)
    let before = try FileStatus(of: path).identity
    close(try RegularFile.openOwn(path, O_RDWR))
    #expect(try shared.text(path) == "old" && FileStatus(of: path).identity == before)
    let held = try Descriptor.open(path, O_RDONLY)
    defer { close(held) }
    close(try RegularFile.openOwn(path, O_WRONLY, isNew: true))
    #expect(try shared.text(path) == "" && Descriptor.read(held, upTo: 10) == Array("old".utf8))
  }

  @Test(
    "in a sticky folder a link must belong to the user or the folder's owner, and elsewhere to any user"
  )
  func shared() throws {
    let shared = try Shared()
    let path = "\(shared.path)/f"
    func refused(_ name: String, as refusal: FileRefusal) {
      #expect(throws: refusal, "\(name)") {
        try SharedPlace.open("\(shared.path)/\(name)", O_WRONLY | O_TRUNC, mode: 0o600)
      }
    }
    close(try SharedPlace.open(path, O_WRONLY, mode: 0o600))
    #expect(try FileStatus(of: path).permissions == 0o600)
    symlink(shared.victim, "\(shared.path)/link")
    try shared.give("link", to: Self.other)
    refused("link", as: .foreign(owner: Self.other))
    mkfifo("\(shared.path)/pipe", 0o666)
    refused("pipe", as: .system(SystemError(code: ENXIO)))
    try shared.give("pipe", to: Self.other)
    refused("pipe", as: .foreign(owner: Self.other))
    try shared.write("theirs", to: "\(shared.path)/file")
    try shared.give("file", to: Self.other)
    refused("file", as: .foreign(owner: Self.other))
    #expect(try shared.text("\(shared.path)/file") == "theirs" && shared.text(shared.victim) == "precious")
    // The owner of the folder may prepare files in it.
    try #require(chown(shared.path, Self.other, Self.other) == 0)
    close(try SharedPlace.open("\(shared.path)/file", O_WRONLY | O_TRUNC, mode: 0o600))
    #expect(try shared.text("\(shared.path)/file") == "")
    close(try SharedPlace.open("\(shared.path)/link", O_WRONLY | O_TRUNC, mode: 0o600))
    #expect(try shared.text(shared.victim) == "")
  }

  @Test("in a folder that is not sticky or not writable by others, files of other users are opened")
  func unshared() throws {
    let shared = try Shared()
    try shared.write("theirs", to: "\(shared.path)/file")
    try shared.give("file", to: Self.other)
    for mode: mode_t in [0o1755, 0o755] {
      chmod(shared.path, mode)
      close(try SharedPlace.open("\(shared.path)/file", O_WRONLY, mode: 0o600))
    }
    chmod(shared.path, 0o1775)
    #expect(throws: FileRefusal.foreign(owner: Self.other)) {
      try SharedPlace.open("\(shared.path)/file", O_WRONLY, mode: 0o600)
    }
  }

  @Test("a refused file is closed again", arguments: Plant.allCases, [false, true])
  private func closed(_ plant: Plant, _ isNew: Bool) throws {
    let shared = try Shared()
    let path = "\(shared.path)/f"
    let refusal = try Self.plant(plant, in: shared)
    defer { rmdir(path) }
    #expect(throws: refusal) { try RegularFile.openOwn(path, O_RDWR, isNew: isNew) }
    let open = try Folder.names(in: "/proc/self/fd").compactMap { try? SymbolicLink.target(of: "/proc/self/fd/\($0)") }
    #expect(open.filter { $0.hasPrefix(shared.path) } == [])
  }
}
