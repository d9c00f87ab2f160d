import Foundation
import TestPeers
import TestTools
import Testing

@Suite("byway browser", .cleansUp) struct BrowserCommandTests {
  private func text(_ name: String, _ folder: TemporaryFolder) throws -> String {
    try String(contentsOfFile: folder[name], encoding: .utf8)
  }

  @Test("writes the files of the repository, scripts without comments, and writes them again")
  func files() async throws {
    let folder = try TemporaryFolder()
    let source = URL(filePath: #filePath).appending(path: "../../../Sources/BywayBrowserFiles/Site").standardizedFileURL
    for _ in 0..<2 {
      let result = try await BywayProcess.run(["browser", "--out", folder["site"]])
      #expect(result.exitCode == 0, "\(result.errorText)")
      let names = try FileManager.default.contentsOfDirectory(atPath: source.path).sorted()
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder["site"]).sorted() == names)
      for name in names {
        var expected = try String(contentsOf: source.appending(path: name), encoding: .utf8)
        if name.hasSuffix(".js") { expected.replace(#/(?m)^ *(//|/\*|\*[ /]).*\n/#, with: "") }
        #expect(try text("site/\(name)", folder) == expected, "\(name)")
      }
    }
  }

  @Test("writes each origin into the page of the other")
  func origins() async throws {
    let folder = try TemporaryFolder()
    let result = try await BywayProcess.run([
      "browser", "--out", folder["site"], "--page-origin", "https://app.example", "--device-origin",
      "https://[2001:db8::1]:8443",
    ])
    #expect(result.exitCode == 0, "\(result.errorText)")
    let page = try text("site/index.html", folder)
    #expect(page.contains("name=\"byway-device\" content=\"https://[2001:db8::1]:8443\""), "\(page)")
    let frame = try text("site/byway-frame.html", folder)
    #expect(frame.contains("name=\"byway-page\" content=\"https://app.example\""), "\(frame)")
  }

  @Test(
    "refuses an origin that is not one, or alone, and a folder that cannot be created",
    arguments: [
      (["--page-origin", "https://app.example"], "together"),
      (["--page-origin", "https://a.example", "--device-origin", "https://a.example"], "the same"),
      (["--page-origin", "https://a.example/", "--device-origin", "https://b.example"], "not an origin"),
      (["--page-origin", "https://a.example", "--device-origin", "https://b\"><script>"], "not an origin"),
      (["--out", "/proc/none"], "Cannot create /proc/none"),
    ])
  func refusals(options: [String], message: String) async throws {
    let folder = try TemporaryFolder()
    let out = options.contains("--out") ? [] : ["--out", folder["site"]]
    let result = try await BywayProcess.run(["browser"] + out + options)
    #expect(result.exitCode != 0 && result.errorText.contains(message), "\(result.errorText)")
    #expect(!FileManager.default.fileExists(atPath: folder["site"]))
  }
}
