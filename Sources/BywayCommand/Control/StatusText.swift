import Byway
import BywayLineLayer
import BywayPrimitives
import BywayTerminal

/// A daemon's status as text. Its source is the JSON, in which another version may have fewer or more members.
struct StatusText {
  private let status: JSON
  let now: Int
  let style: TextStyle

  /// - Parameter now: seconds since 1970.
  init(_ status: JSON, now: Int, style: TextStyle) {
    self.status = status
    self.now = now
    self.style = style
  }

  var lines: [String] {
    var lines = [head]
    if let reload = status["reload"], reload["result"]?.text == "refused" {
      let reason = reload["reason"]?.text ?? ""
      let first = String(reason.split(separator: "\n").first ?? "")
      lines.append("  " + style.bad("the last reload was refused") + ": \(first.visible)")
    }
    for member in status["members"]?.elements ?? [] { lines += self.lines(of: member) }
    lines += (status["plugins"]?.elements ?? []).map { "  \(line(ofPlugin: $0))" }
    lines.append("  requests: \(requests)")
    if let held = held { lines.append("  held for peers: \(held)") }
    if let inspector = status["inspector"]?.text { lines.append("  inspector: \(inspector.visible)") }
    return lines
  }

  /// The daemon in one line: its name, its addresses, and the state of its links.
  var summary: String {
    let members = status["members"]?.elements ?? []
    let listens = members.flatMap { $0["listens"]?.elements ?? [] }.compactMap(\.text).joined(separator: " ")
    var facts = [text("kind") + (listens.isEmpty ? "" : " on \(listens.visible)")]
    if status["state"]?.text == "stopping" { facts.append(style.bad("stopping")) }
    let links = members.flatMap { $0["links"]?.elements ?? [] }
    facts += links.prefix(Self.summaryLimit).map { link in
      let name = link["device"]?.text.map { "device \($0.visible)" } ?? label(of: link, "link")
      return "\(name) \(state(link["state"]?.text ?? "unknown", because: link["reason"]?.text))"
    }
    if links.count > Self.summaryLimit { facts.append("\(links.count - Self.summaryLimit) more") }
    return "\(style.bold(text("name"))): \(facts.joined(separator: ", "))"
  }

  private static let summaryLimit = 3

  private var head: String {
    let name = style.bold(text("name"))
    var facts = ["\(text("kind")) \(text("version"))"]
    if status["state"]?.text == "stopping" { facts.append(style.bad("stopping")) }
    if let since = since(status) { facts.append("up \(since)") }
    if let process = number(status["processID"]) { facts.append("process \(process)") }
    if let bytes = number(status["memoryBytes"]) { facts.append(ByteCount.text(bytes)) }
    if let count = number(status["descriptors"]) { facts.append("\(count) files") }
    if let file = status["configuration"]?.text { facts.append(file.visible) }
    return "\(name): \(facts.joined(separator: ", "))"
  }

  private func lines(of member: JSON) -> [String] {
    let name = member["name"]?.text ?? ""
    let listens = (member["listens"]?.elements ?? []).compactMap(\.text).joined(separator: " ")
    let facts = [name.isEmpty ? "" : name.visible, listens.isEmpty ? "" : "listens on \(listens.visible)"]
    var lines = [facts.filter { !$0.isEmpty }.joined(separator: ": ")].filter { !$0.isEmpty }.map { "  \($0)" }
    for hub in member["hubs"]?.elements ?? [] { lines += hubLines(hub) }
    for (title, member) in [("link", member["links"]), ("origin", member["origins"])] {
      for link in member?.elements ?? [] {
        lines.append("    \(label(of: link, title)): \(words(of: link))")
        for link in link["links"]?.elements ?? [] {
          lines.append("      \(label(of: link, "link")): \(words(of: link))")
        }
      }
    }
    return lines
  }

  private func hubLines(_ hub: JSON) -> [String] {
    let gateways = number(hub["gateways"]) ?? 0
    let connected = gateways == 1 ? "1 gateway connected" : "\(gateways) gateways connected"
    let refusals = (hub["refusals"]?.elements ?? []).map { refusal in
      let names = (refusal["names"]?.elements ?? []).compactMap(\.text).joined(separator: " ").visible
      let peer = (refusal["peer"]?.text ?? "this machine").visible + (names.isEmpty ? "" : " (\(names))")
      let count = number(refusal["count"]) ?? 1
      let times = count == 1 ? "" : "\(count) times, last "
      let age = seconds(since: refusal["at"]).map { "\(times)\(Self.span($0)) ago" } ?? ""
      return "      \(style.bad("refused")) \(peer) \(age): \((refusal["reason"]?.text ?? "").visible)"
    }
    return ["    hub \((hub["address"]?.text ?? "").visible): \(connected)"] + refusals
  }

  /// The name of several links is that of the first one, which may not be the one in use.
  private func label(of link: JSON, _ title: String) -> String {
    let isOne = link["links"] == nil
    let place = "\(title) \((link["name"]?.text ?? "").visible)"
    guard let device = link["device"]?.text else { return isOne ? place : "default device" }
    return "device \(device.visible)" + (isOne ? ", \(place)" : "")
  }

  private func words(of link: JSON) -> String {
    let reason = link["reason"]?.text
    let word = link["state"]?.text ?? "unknown"
    let state = state(word, because: reason)
    let age = since(link).map { "for \($0)" }
    var facts: [String]
    if word == "refused", let reason {
      facts = ["\(state): \(reason.visible)" + (age.map { " (\($0))" } ?? "")]
    } else {
      facts = [state + (age.map { " \($0)" } ?? "")] + (reason.map { [$0.visible] } ?? [])
    }
    let line = link["line"]
    if let nanoseconds = number(link["roundTripNanoseconds"]) ?? number(line?["roundTripNanoseconds"]) {
      facts.append("round trip \(Decimal.text(Double(nanoseconds) / 1_000_000, digits: 1)) ms")
    }
    if let rate = number(line?["bytesPerSecond"]) { facts.append("\(rate) bytes/s") }
    if let errors = line.flatMap(errors) { facts.append("\(errors)") }
    if let resumes = number(line?["resumes"]), resumes > 0 {
      facts.append(resumes == 1 ? "resumed once" : "resumed \(resumes) times")
    }
    return facts.joined(separator: ", ")
  }

  private func state(_ state: String, because reason: String?) -> String {
    switch state {
    case "up", "reachable": style.good(state)
    case "down", "interrupted", "unreachable", "refused": style.bad(state)
    // Without a reason, the link waits for the far end.
    case "waiting" where reason != nil: style.bad("waiting for the line")
    case "standingBy": "standing by"
    default: state.visible
    }
  }

  private func errors(on line: JSON) -> LineErrors? {
    func count(_ name: String) -> UInt64? {
      if case .number(let digits)? = line[name] { UInt64(digits) } else { nil }
    }
    guard let errors = count("errors"), let sent = count("sentBytes"), let received = count("receivedBytes") else {
      return nil
    }
    return LineErrors(count: errors, in: sent &+ received)
  }

  private var requests: String {
    let requests = status["requests"]
    var facts = ["\(number(requests?["running"]) ?? 0) running", "\(number(requests?["done"]) ?? 0) done"]
    guard case .object(let kinds) = requests?["failed"], !kinds.isEmpty else {
      return facts.joined(separator: ", ")
    }
    let list = kinds.map { "\(number($0.value) ?? 0) \($0.name.visible)" }.joined(separator: ", ")
    facts.append("\(kinds.compactMap { number($0.value) }.reduce(0, &+)) failed (\(list))")
    return facts.joined(separator: ", ")
  }

  private var held: String? {
    guard let held = status["held"], let bytes = number(held["bytes"]), let limit = number(held["limitBytes"]) else {
      return nil
    }
    let refused = number(held["refused"]) ?? 0
    let text = "\(ByteCount.text(bytes)) of \(ByteCount.text(limit))"
    return refused == 0 ? text : "\(text), \(style.bad("\(refused) requests refused for that"))"
  }

  private func text(_ name: String) -> String { (status[name]?.text ?? "?").visible }

  func number(_ value: JSON?) -> Int? {
    if case .number(let digits) = value { Int(digits) } else { nil }
  }

  /// `3 h`
  func since(_ value: JSON) -> String? {
    seconds(since: value["since"]).map(Self.span)
  }

  /// The time that has passed since a time in JSON.
  private func seconds(since time: JSON?) -> Int? {
    time?.text.flatMap(Self.seconds).map { max(0, now - $0) }
  }

  private static func span(_ seconds: Int) -> String {
    switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7200: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3600) h"
    default: "\(seconds / 86400) days"
    }
  }

  /// `2026-11-22T08:49:37Z`
  static func seconds(_ time: String) -> Int? {
    let numbers = time.split { !$0.isNumber }.compactMap { Int($0) }
    guard numbers.count == 6, time.hasSuffix("Z"), numbers.dropFirst().allSatisfy({ $0 < 61 }) else { return nil }
    let secondOfDay = numbers[3] * 3600 + numbers[4] * 60 + numbers[5]
    return CalendarTime(year: numbers[0], month: numbers[1], day: numbers[2], secondOfDay: secondOfDay)?
      .secondsSinceEpoch
  }
}
