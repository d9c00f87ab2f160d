import Byway
import Foundation
import TestPeers
import TestTools
import Testing

/// Version, manual and shell completion of the program.
@Suite("Manual and shell completion") struct ManualTests {
  @Test("--version prints one line")
  func version() async throws {
    let result = try await BywayProcess.run(["--version"])
    #expect(result.exitCode == 0)
    #expect(result.text.wholeMatch(of: /byway \d+\.\d+\.\d+\n/) != nil, "\(result.text)")
    #expect(result.text == "byway \(Release.version)\n")
  }

  @Test("the changelog begins with this release")
  func changelog() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let changelog = try String(contentsOf: root.appending(path: "CHANGELOG.md"), encoding: .utf8)
    let newest = try #require(changelog.firstMatch(of: /\n## \[(.*?)\]/))
    #expect(String(newest.1) == Release.version)
  }

  @Test("every command and file has a manual page, which man formats without warnings")
  func manual() async throws {
    let folder = try TemporaryFolder()
    let made = try await BywayProcess.run(["manual", folder["man"]])
    #expect(made.exitCode == 0, "\(made.errorText)")
    let commands = try FileManager.default.contentsOfDirectory(atPath: folder["man/man1"]).sorted()
    let names = [
      "browser", "certificate", "check", "demo", "doctor", "gateway", "line", "links", "log-level", "ping", "ports",
      "push",
      "proxy",
      "reload", "request",
      "status",
      "stop", "trust",
    ]
    #expect(commands == (names.map { "byway-\($0).1" } + ["byway.1"]).sorted())
    let files = try FileManager.default.contentsOfDirectory(atPath: folder["man/man5"]).sorted()
    #expect(files == ["byway-links.5", "byway-stub.5", "byway.conf.5"])
    let request = try String(contentsOfFile: folder["man/man1/byway-request.1"], encoding: .utf8)
    #expect(request.contains("\n.TP\n\\fB\\-o, \\-\\-output FILE\\fR\nWrite the body to a file"), "\(request)")
    for page in commands.map({ "man1/\($0)" }) + files.map({ "man5/\($0)" }) {
      let shown = try await Program.groff.run(["-Kutf8", "-Tutf8", "-man", "-ww", "-z", folder["man/\(page)"]])
      #expect(shown.exitCode == 0 && shown.errorText.isEmpty, "\(page): \(shown.errorText)")
    }
  }

  /// Returns bash's completions of the last word.
  private func completions(_ words: [String], home: BywayHome) async throws -> [String] {
    let script = """
      PATH="$1:$PATH"; source <(byway --generate-completion-script bash); shift
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
      _byway byway "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"; printf '%s\n' "${COMPREPLY[@]}"
      """
    let folder = URL(filePath: try BywayProcess.command()).deletingLastPathComponent().path
    let result = try await Program.bash.run(
      ["-c", script, "test", folder] + words, environment: home.environment)
    return result.text.split(separator: "\n").map(String.init)
  }

  @Test("bash completes files, folders and link names")
  func completion() async throws {
    let home = try BywayHome()
    try FileManager.default.createDirectory(atPath: home.folder["byway"], withIntermediateDirectories: true)
    try home.folder.write("printer = unix:/x\n", to: "byway/links")
    let file = try home.folder.write("x", to: "upload.bin")
    #expect(try await completions(["byway", "request", "-T", String(file.dropLast(4))], home: home) == [file])
    #expect(try await completions(["byway", "request", "--link", "pri"], home: home) == ["printer"])
    #expect(
      try await completions(["byway", "req"], home: home).map { $0.trimmingCharacters(in: .whitespaces) } == ["request"]
    )
  }

  @Test("the completion scripts for zsh and fish exist", arguments: ["zsh", "fish"])
  func others(_ shell: String) async throws {
    let script = try await BywayProcess.run(["--generate-completion-script", shell]).text
    #expect(script.contains("upload-file") && script.contains("---completion"), "\(script.prefix(300))")
  }

  @Test("the help text fits a terminal of 80 columns")
  func columns() async throws {
    let names = try await BywayProcess.run(["help"]).text.split(separator: "\n").drop { $0 != "SUBCOMMANDS:" }
      .compactMap {
        $0.firstMatch(of: /^ {2}([a-z-]+)\s/).map { String($0.1) }
      }
    #expect(names.count == 18, "\(names)")
    let trust = ["add", "list", "remove", "authority"].map { ["help", "trust", $0] }
    for arguments in [[], ["help"], ["--help"]] + names.map({ ["help", $0] }) + trust {
      let result = try await BywayProcess.run(arguments)
      #expect(result.exitCode == 0)
      for line in result.text.split(separator: "\n") { #expect(line.count <= 80, "\(arguments): \(line)") }
    }
  }
}
