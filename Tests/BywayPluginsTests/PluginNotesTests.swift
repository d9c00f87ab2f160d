import Byway
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

@testable import BywayPlugins

/// Remarks of plugins about exchanges: the field byway-note.
@Suite("Notes of plugins", .timeLimit(.minutes(1))) struct PluginNotesTests {
  private static let note = HTTPField.Name("byway-note") ?? .from

  @Test("notes are taken out of the fields, within limits")
  func limits() {
    var fields: HTTPFields = [.contentType: "x"]
    for number in 1...9 { fields.append(HTTPField(name: Self.note, value: "note \(number)")) }
    var notes = PluginNotes.take(from: &fields)
    #expect(notes == (1...8).map { "note \($0)" })
    #expect(fields == [.contentType: "x"])
    notes = PluginNotes.take(from: &fields)
    #expect(notes.isEmpty)

    fields[Self.note] = String(repeating: "ä", count: 200)
    notes = PluginNotes.take(from: &fields)
    #expect(notes == [String(repeating: "ä", count: 128)])
    fields[Self.note] = "x" + String(repeating: "ä", count: 128)
    notes = PluginNotes.take(from: &fields)
    #expect(notes.first?.utf8.count == 255)
  }

  @Test("control characters of a note are made visible, and count in its length as they are shown")
  func visible() {
    var fields: HTTPFields = [Self.note: "a\u{1B}[31m"]
    let shown = PluginNotes.take(from: &fields)
    #expect(shown.count == 1 && shown[0].hasPrefix("a") && shown[0].hasSuffix("[31m") && !shown[0].contains("\u{1B}"))
    fields[Self.note] = String(repeating: "\u{202E}", count: 200)
    let notes = PluginNotes.take(from: &fields)
    #expect(notes == [String(repeating: "?", count: 200)])
  }

  @Test("several notes of a plugin are kept in their order, and empty ones as well")
  func several() {
    var fields = HTTPFields()
    for text in ["b", "", "a"] { fields.append(HTTPField(name: Self.note, value: text)) }
    fields[.contentType] = "x"
    #expect(PluginNotes.take(from: &fields) == ["b", "", "a"])
    #expect(fields == [.contentType: "x"])
    fields[Self.note] = String(repeating: "x", count: 256)
    #expect(PluginNotes.take(from: &fields) == [String(repeating: "x", count: 256)])
  }

  /// Collects the records of exchanges that have ended. Safe on any thread.
  private final class Records: ExchangeObserver {
    private let ended = Mutex<[ExchangeRecord]>([])

    var all: [ExchangeRecord] { ended.withLock(\.self) }

    func exchangeEnded(_ exchange: ExchangeRecord) { ended.withLock { $0.append(exchange) } }
  }

  @Test("notes of each plugin are in the record of the exchange with its name, and not in the response")
  func recorded() async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    var plugins: [TestPlugin] = []
    for name in ["a", "b"] {
      plugins.append(
        try await TestPlugin(in: folder, name: name) { request in
          var response = try await hops.forward(request)
          // The notes of others, and of the origin, do not reach it.
          #expect(response.head.headerFields[Self.note] == nil)
          response.head.headerFields.append(HTTPField(name: Self.note, value: "by \(name)"))
          return response
        })
    }
    let records = Records()
    let rig = try await PluginRig(plugins.map(\.address), in: folder, observer: records) { _ in
      Response(status: .ok, fields: [Self.note: "of the origin"], body: Body("content"))
    }
    let response = try await rig.client.get("http://device/")
    #expect(response.fields[Self.note] == nil)
    #expect(try await response.text == "content")
    #expect(try await eventually { records.all.count == 1 })
    #expect(
      records.all.first?.notes == [
        ExchangeRecord.Note(plugin: "plugin-1", text: "by b"), ExchangeRecord.Note(plugin: "plugin-0", text: "by a"),
      ])
    await rig.stop()
    for plugin in plugins { await plugin.stop() }
  }
}
