import Byway
import BywayDoctor
import Foundation
import Glibc
import TestPeers
import TestTools
import Testing
import TransportTestSupport
import UnixTransport

/// Problems with a socket's file.
@Suite("Doctor: socket files", .timeLimit(.minutes(2))) struct SocketDoctorTests: ExaminingSuite {
  private let folder: TemporaryFolder
  let transports = TransportRegistry([UnixTransport()])

  init() throws { folder = try TemporaryFolder() }

  @Test("the doctor reports a stale socket, and for a missing one suggests a similar name")
  func stale() async throws {
    try StaleSocket.make(at: folder["byway.sock"])
    let stale = try await examine("unix:\(folder["byway.sock"])")
    #expect(stale.expects(.nobodyListens), "\(stale.json)")
    let mistyped = try await examine("unix:\(folder["bywya.sock"])")
    #expect(mistyped.expects(.noFile), "\(mistyped.json)")
    #expect(mistyped.line.contains("Did you mean \"\(folder["byway.sock"])\"?"), "\(mistyped.line)")
    let elsewhere = try await examine("unix:\(folder["no/folder/s"])")
    #expect(
      elsewhere.expects(.noFile) && elsewhere.line.contains("no directory \(folder["no/folder"])"), "\(elsewhere.json)")
  }

  @Test("the doctor reports an abstract socket, which no link can use")
  func abstract() async throws {
    let name = folder["s"].replacingOccurrences(of: "/", with: "-").dropFirst()
    let socket = try AbstractSocket(named: String(name))
    let report = try await examine("unix:@\(name)")
    #expect(report.expects(.notASocket) && report.line.contains("abstract"), "\(report.json)")
    socket.close()
  }

  @Test("the doctor reports missing permission for a socket or for a folder above it")
  func permission() async throws {
    let nobody = try await NobodysByway(in: folder)
    let closed = folder["closed"]
    try FileManager.default.createDirectory(atPath: "\(closed)/inner", withIntermediateDirectories: true)
    for path in [folder["s"], "\(closed)/inner/s"] { try StaleSocket.make(at: path) }
    nobody.forbid(folder["s"])
    nobody.forbid(closed)
    for (path, words) in [
      (folder["s"], "Permission denied on \(folder["s"])"), ("\(closed)/inner/s", "Run: ls -ld \(closed)"),
    ] {
      let result = try await nobody.run(["doctor", "--json", "unix:\(path)"])
      #expect(result.exitCode == 69 && result.text.contains(#""fault":"no-permission""#), "\(result.text)")
      #expect(result.text.replacingOccurrences(of: #"\/"#, with: "/").contains(words), "\(result.text)")
    }
    chmod(closed, 0o700)
  }
}

/// A listener on an abstract socket, which has no file (unix(7)).
private struct AbstractSocket {
  private let descriptor: Int32

  init(named name: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) {
      UnsafeMutableRawBufferPointer(rebasing: $0.dropFirst()).copyBytes(from: name.utf8)
    }
    let length = MemoryLayout<sa_family_t>.size + 1 + name.utf8.count
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(length)) }
    }
    guard bound == 0, listen(descriptor, 1) == 0 else { throw FixtureError("no abstract socket") }
  }

  func close() {
    _ = Glibc.close(descriptor)
  }
}
