import ArgumentParser
import Foundation
import TestPeers
import TestTools
import Testing

@testable import BywayCommand
@testable import BywayDaemon

extension Parsing {
  /// The example configuration files.
  @Suite("Configuration examples") struct ConfigurationExampleTests {
    @Test(
      "the example files list every daemon option as a comment, and each line is valid once uncommented"
    )
    func complete() async throws {
      let folder = try TemporaryFolder()
      #expect(try await BywayProcess.run(["manual", "--examples", folder["etc"]]).exitCode == 0)
      let commands: [(String, any ParsableCommand.Type)] = [
        ("gateway", GatewayCommand.self), ("proxy", ProxyCommand.self),
      ]
      for (name, command) in commands {
        let text = try String(contentsOfFile: folder["etc/\(name).conf"], encoding: .utf8)
        #expect(text.split(separator: "\n").allSatisfy { $0.hasPrefix("#") && $0.count <= 100 }, "\(text)")
        // A setting has no space after its #.
        let uncommented = text.split(separator: "\n").filter { !$0.hasPrefix("# ") }.map { $0.dropFirst() }
        let entries = ConfigurationFile(uncommented.joined(separator: "\n"), path: "\(name).conf").entries
        let known = ArgumentFacts.all(of: command).flatMap(\.names).filter { $0.hasPrefix("--") }
        let others: Set = ["--help", "--version", "--config", "--check", "--instance"]
        #expect(Set(entries.map { "--\($0.name)" }) == Set(known).subtracting(others))
        #expect(entries.count == Set(entries.map(\.name)).count)
      }
    }

    @Test(
      "the defaults in the example files match the options",
      arguments: [
        ("gateway", "drain = 10"), ("gateway", "max-connections = 1024"), ("proxy", "link-timeout = 5"),
        ("gateway", "log-level = info"),
      ])
    func defaults(_ name: String, _ line: String) throws {
      let example = try #require(ConfigurationExample.all.first { $0.fileName == "\(name).conf" })
      #expect(example.text.contains("\n#\(line)\n"), "\(example.text)")
    }
  }
}
