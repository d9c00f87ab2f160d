import BywayPrimitives
import Glibc
import Testing

/// A temporary folder, deleted with the last reference.
private final class Place {
  let path: String

  init() throws {
    path = try Folder.makeTemporary(in: "/tmp", prefix: "byway-test")
  }

  deinit {
    for name in (try? Folder.names(in: path)) ?? [] { unlink("\(path)/\(name)") }
    rmdir(path)
  }

  func write(_ text: String, to name: String) throws -> String {
    let descriptor = try Descriptor.open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, mode: 0o640)
    defer { close(descriptor) }
    try Descriptor.write(text, to: descriptor)
    return "\(path)/\(name)"
  }
}

@Suite struct FileTests {
  private let place: Place

  init() throws { place = try Place() }

  @Test("a small file is read completely, with its owner")
  func smallFile() throws {
    let file = try SmallFile(place.write("grün", to: "a"), limit: 5)
    #expect(file.text == "grün" && file.isTrusted)
    #expect(file.status.permissions == 0o640 && file.status.owner == geteuid() && file.status.kind == .regular)
    chmod("\(place.path)/a", 0o666)
    #expect(try !SmallFile("\(place.path)/a", limit: 5).isTrusted)
    #expect(try SmallFile("/dev/null", limit: 5).bytes.isEmpty)
  }

  @Test("a file that is missing, too large or not regular is refused with the reason")
  func unreadable() throws {
    let path = try place.write("123456", to: "a")
    #expect(throws: SmallFile.Failure.tooLarge(limit: 5)) { try SmallFile(path, limit: 5) }
    #expect(throws: SmallFile.Failure.missing) { try SmallFile(path + "b", limit: 5) }
    #expect(throws: SmallFile.Failure.missing) { try SmallFile(path + "/b", limit: 5) }
    #expect(throws: SmallFile.Failure.refused(.notRegular(.folder))) { try SmallFile(place.path, limit: 5) }
  }

  @Test(
    "only a regular file is opened, and a pipe's writer is not woken")
  func kinds() throws {
    try #require(mkfifo("\(place.path)/pipe", 0o600) == 0)
    symlink("\(place.path)/pipe", "\(place.path)/link")
    var ends: [CInt] = [-1, -1]
    try #require(Glibc.pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    let cases: [(String, FileStatus.Kind)] = [
      ("\(place.path)/pipe", .pipe), ("\(place.path)/link", .pipe), ("/dev/fd/\(ends[0])", .pipe),
      ("/dev/zero", .characterDevice), ("/dev/tty", .characterDevice), ("/dev/full", .characterDevice),
    ]
    for (path, kind) in cases {
      #expect(throws: SmallFile.Failure.refused(.notRegular(kind)), "\(path)") { try SmallFile(path, limit: 5) }
      #expect(throws: FileRefusal.notRegular(kind), "\(path)") { try RegularFile.open(path) }
    }
    let words = "\(FileRefusal.notRegular(.pipe))"
    #expect(words == "it is a pipe, not a regular file")
    // A later writer still waits for its reader.
    #expect(open("\(place.path)/pipe", O_WRONLY | O_NONBLOCK) == -1 && errno == ENXIO)
  }

  @Test("bytes are read and written at a position, or after the previous call's")
  func positions() throws {
    let descriptor = try Descriptor.open(place.write("0123456789", to: "a"), O_RDWR)
    defer { close(descriptor) }
    try Descriptor.write("xy", to: descriptor, at: 4)
    var bytes = [UInt8](repeating: 0, count: 4)
    #expect(try bytes.withUnsafeMutableBytes { try Descriptor.read(descriptor, into: $0, at: 3) } == 4)
    #expect(bytes == Array("3xy6".utf8))
    #expect(try Descriptor.read(descriptor, upTo: 4) == Array("0123".utf8))
    #expect(try Descriptor.read(descriptor, upTo: 100) == Array("xy6789".utf8))
  }

  @Test("the names in a folder and the targets of symbolic links are read")
  func names() throws {
    let path = try place.write("", to: "a")
    try #require(symlink("a", "\(place.path)/b") == 0)
    #expect(try Folder.names(in: place.path).sorted() == ["a", "b"])
    #expect(try SymbolicLink.target(of: "\(place.path)/b") == "a")
    #expect(try SymbolicLink.resolved("\(place.path)/b") == SymbolicLink.resolved(path))
    #expect(throws: SystemError(code: EINVAL)) { try SymbolicLink.target(of: path) }
    #expect(throws: SystemError(code: ENOTDIR)) { try Folder.names(in: path) }
    #expect(try FileStatus(of: path).identity == FileStatus(of: "\(place.path)/b").identity)
  }

  @Test("a kernel file is read, or empty if it is missing")
  func kernel() throws {
    #expect(KernelFile.text(of: "/proc/self/status")?.hasPrefix("Name:") == true)
    #expect(KernelFile.text(of: "/proc/self/missing") == nil && KernelFile.lines(of: "/proc/self/missing").isEmpty)
    #expect(!KernelFile.write("1", to: "/proc/self/missing"))
  }

  @Test("a process is described by its id and name, and its open files are listed")
  func processes() throws {
    let own = RunningProcess(getpid())
    #expect(own.description == "process \(getpid()) (\(own.name ?? ""))" && own.name?.isEmpty == false)
    #expect(RunningProcess.all.contains(getpid()))
    #expect(RunningProcess(99_999_999).description == "process 99999999")
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    #expect(RunningProcess.openFiles(of: getpid()).contains("/proc/\(getpid())/fd/\(descriptor)"))
    #expect(RunningProcess.sockets(of: getpid()).contains("\(try FileStatus(of: descriptor).identity.inode)"))
  }
}
