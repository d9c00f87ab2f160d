import Glibc
import TestTools
import Testing

@testable import Byway

@Suite("Files of downloads in progress") struct PartialDownloadTests {
  @Test("a file that another program puts in the place of a partial download does not get the final name")
  func replaced() throws {
    let folder = try TemporaryFolder()
    let path = folder["f"]
    let descriptor = try PartialDownload.makePart(of: path)
    defer { close(descriptor) }
    #expect(unlink("\(path).part") == 0)
    #expect(throws: BywayError.self) { try PartialDownload.rename(partOf: path, descriptor) }
    try folder.write("planted", to: "other")
    #expect(symlink(folder["other"], "\(path).part") == 0)
    #expect(throws: BywayError.self) { try PartialDownload.rename(partOf: path, descriptor) }
    #expect(rename(folder["other"], "\(path).part") == 0)
    #expect(throws: BywayError.self) { try PartialDownload.rename(partOf: path, descriptor) }
    #expect(access(path, F_OK) != 0)
  }
}
