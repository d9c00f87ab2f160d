import Byway
import Foundation
import HTTPTypes
import NIOCore
import TestPeers
import TestTools
import Testing

@testable import BywayInterceptors

/// The rule for every folder whose content is trusted.
@Suite struct TrustedFolderTests {
  private let files: TemporaryFolder
  /// The tested folder's parent.
  private var parent: String { files["parent"] }
  private var path: String { files["parent/own"] }

  init() throws {
    files = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for path in [parent, path] { chmod(path, 0o755) }
  }

  private func refusal(_ path: String? = nil) -> String? {
    do {
      _ = try TrustedFolder.existing(path ?? self.path)
      return nil
    } catch {
      return error.message
    }
  }

  @Test(
    "a folder that others can write to is refused with its path and advice", arguments: [0o777, 0o775])
  func writable(_ mode: mode_t) {
    chmod(path, mode)
    #expect(refusal()?.hasPrefix("Others can write to \(path) (mode \(String(mode, radix: 8)))") == true)
    #expect(refusal()?.contains("chmod go-w") == true)
    // Others can still add files to a sticky folder.
    chmod(path, mode | 0o1000)
    #expect(refusal()?.contains("Others can write to \(path)") == true)
  }

  @Test("a folder whose parent others can write to is refused, unless the parent is sticky")
  func parentWritable() {
    chmod(parent, 0o777)
    #expect(refusal()?.contains("Others can write to \(parent) (mode 777), and so change what is in \(path)") == true)
    chmod(parent, 0o1777)
    #expect(refusal() == nil)
  }

  // Only root can change a file's owner.
  @Test("folders, parents and symbolic links of another user are refused", .enabled(if: geteuid() == 0))
  func foreign() throws {
    chown(path, 12_345, 12_345)
    #expect(refusal()?.contains("\(path) belongs to another user (12345)") == true)
    chown(path, 0, 0)
    chown(parent, 12_345, 12_345)
    #expect(refusal()?.contains("\(parent) belongs to another user (12345)") == true)
    chown(parent, 0, 0)
    symlink(path, files["link"])
    #expect(refusal(files["link"]) == nil)
    lchown(files["link"], 12_345, 12_345)
    #expect(refusal(files["link"])?.contains("is a symbolic link of another user (12345)") == true)
  }

  @Test("the user's own symbolic links are followed, and their targets must be trusted too")
  func links() {
    symlink("parent/own", files["link"])
    #expect(refusal(files["link"]) == nil)
    #expect(refusal(files["link"] + "/../own/.") == nil)
    chmod(path, 0o777)
    #expect(refusal(files["link"])?.contains("Others can write to") == true)
    symlink("loop", files["loop"])
    #expect(refusal(files["loop"])?.contains("symbolic links") == true)
  }

  @Test("a file in a trusted folder is refused if others can write to it, and a symbolic link is not followed")
  func foreignFiles() throws {
    let folder = try #require(try TrustedFolder.existing(path))
    try files.write("good", to: "parent/own/good")
    chmod(path + "/good", 0o644)
    #expect(try folder.file("good").map { String(buffer: try $0.readAll()) } == "good")
    try files.write("planted", to: "parent/own/planted")
    chmod(path + "/planted", 0o666)
    let error = #expect(throws: BywayError.self) { try folder.file("planted") }
    #expect(error?.message.contains("planted could be written by others") == true)
    symlink("good", path + "/link")
    #expect(throws: BywayError.self) { try folder.file("link") }
    #expect(throws: BywayError.self) { try folder.file("../own/good") }
    #expect(try folder.file("none") == nil)
    if geteuid() == 0 {
      chown(path + "/good", 12_345, 12_345)
      #expect(throws: BywayError.self) { try folder.file("good") }
    }
  }

  @Test("an open trusted folder stays the same if another folder takes its path")
  func descriptor() throws {
    let folder = try #require(try TrustedFolder.existing(path))
    try files.write("own", to: "parent/own/a")
    rename(path, files["moved"])
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try files.write("planted", to: "parent/own/a")
    #expect(try folder.file("a").map { String(buffer: try $0.readAll()) } == "own")
  }

  @Test("a new folder is accessible to its owner only, and parents are created on request")
  func making() throws {
    let error = #expect(throws: BywayError.self) { try TrustedFolder(files["a/b"], making: .folder) }
    #expect(error?.message.contains("\(files["a"]): No such file") == true)
    _ = try TrustedFolder(files["a/b"], making: .all)
    for name in ["a", "a/b"] { #expect(try files.permissions(of: name) == 0o700) }
    #expect(try TrustedFolder.existing(files["none"]) == nil)
    try files.write("", to: "file")
    #expect(refusal(files["file"])?.contains("is not a folder") == true)
    // No file is created in place of a missing one.
    chmod(parent, 0o777)
    #expect(try TrustedFolder.existing(parent + "/none") == nil)
    #expect(throws: BywayError.self) { try TrustedFolder(parent + "/none", making: .folder) }
  }

  @Test("caches, recorders and replays refuse an untrusted folder")
  func users() throws {
    chmod(path, 0o777)
    for use in [
      { _ = try Cache(folder: $0) }, { _ = try Recorder(into: $0) }, { _ = try Replay(from: $0) },
    ] as [(String) throws -> Void] {
      let error = #expect(throws: BywayError.self) { try use(path) }
      #expect(error?.message.contains("Others can write to \(path)") == true)
    }
  }
}
