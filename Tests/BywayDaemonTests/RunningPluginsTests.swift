import Byway
import BywayPlugins
import Foundation
import HTTPTypes
import Logging
import LoopbackTransport
import ProcessTransport
import TestTools
import Testing
import UnixTransport

@testable import BywayDaemon

/// The plugins of a daemon.
@Suite("Plugins of a daemon", .timeLimit(.minutes(1))) struct RunningPluginsTests {
  private static let transports = TransportRegistry([LoopbackTransport(), ExecTransport(), UnixTransport()])

  private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// Returns the link of a plugin that answers with the address of its next hop.
  private func link(_ name: String) throws -> Link {
    let file = try folder.write(
      """
      while IFS= read -r line; do
        [ "$line" = "$(printf '\\r')" ] || continue
        printf 'HTTP/1.1 200 OK\\r\\ncontent-length: %d\\r\\n\\r\\n%s' ${#BYWAY_NEXT} "$BYWAY_NEXT"
      done

      """, to: "\(name).sh")
    return try Self.transports.link("exec:/bin/sh \(file)?http=1.1")
  }

  private func plugin(_ name: String, of running: inout RunningPlugins) throws -> Plugin {
    try running.plugin(
      PluginSettings(name: name), at: link(name), key: name, upgrades: [], in: Self.transports, logger: quiet)
  }

  /// Returns the path of a plugin's next hop.
  private func next(of plugin: Plugin) async throws -> String {
    let response = try await Next([plugin]) { _ in Response(status: .ok) }(Request(url: "http://device/"))
    let text = String(buffer: try await response.body.collect(upTo: 1000))
    return String(try #require(text.hasPrefix("unix:") ? text.dropFirst(5) : nil, "\(text)"))
  }

  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  @Test("members with the same option share a plugin, and each plugin has its own next hop in one private folder")
  func shared() async throws {
    var running = RunningPlugins()
    let (one, two) = (try plugin("one", of: &running), try plugin("two", of: &running))
    #expect(try plugin("one", of: &running) === one && plugin("two", of: &running) === two)
    #expect(running.all.map(\.settings.name) == ["one", "two"])
    let nexts = [try await next(of: one), try await next(of: two)]
    #expect(nexts.map { $0.suffix(7) } == ["/1.sock", "/2.sock"])
    let folders = Set(nexts.map { $0.dropLast(7) })
    let attributes = try FileManager.default.attributesOfItem(atPath: String(try #require(folders.first)))
    #expect(folders.count == 1 && attributes[.posixPermissions] as? Int == 0o700)
    for task in running.release(except: [], within: .seconds(60)) { await task.value }
  }

  @Test("a plugin that is no longer used ends, the others go on, and the last one takes the folder with it")
  func released() async throws {
    var running = RunningPlugins()
    let (one, two) = (try plugin("one", of: &running), try plugin("two", of: &running))
    let nexts = [try await next(of: one), try await next(of: two)]
    let folder = String(nexts[0].dropLast(7))
    for task in running.release(except: ["two", "other"], within: .seconds(60)) { await task.value }
    #expect(running.all.map(\.settings.name) == ["two"])
    #expect(!exists(nexts[0]) && exists(nexts[1]))
    #expect(await one.status.processIDs.isEmpty)
    #expect(await two.status.processIDs.count == 1)
    #expect(try await next(of: two) == nexts[1])
    // A plugin with the option of an earlier one is a new one.
    let again = try plugin("one", of: &running)
    #expect(again !== one && running.all.map(\.settings.name) == ["two", "one"])
    #expect(try await next(of: again) == "\(folder)/3.sock")
    for task in running.release(except: [], within: .seconds(60)) { await task.value }
    #expect(running.all.isEmpty && !exists(folder))
    for plugin in [one, two, again] { #expect(await plugin.status.processIDs.isEmpty) }
    // Nothing is left to end.
    for task in running.release(except: [], within: .seconds(60)) { await task.value }
    let last = try plugin("one", of: &running)
    #expect(try await exists(next(of: last)))
    for task in running.release(except: [], within: .seconds(60)) { await task.value }
  }
}
