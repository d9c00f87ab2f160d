import BywayPrimitives
import BywayTerminal

extension StatusText {
  /// A plugin in one line.
  func line(ofPlugin plugin: JSON) -> String {
    var facts = [pluginState(plugin)]
    if let reason = plugin["reason"]?.text { facts.append(reason.visible) }
    if let next = plugin["nextAttempt"]?.text.flatMap(Self.seconds) {
      facts.append("next attempt in \(max(0, next - now)) s")
    }
    facts.append(Self.count(number(plugin["requests"]) ?? 0, "request", "requests"))
    if let running = number(plugin["running"]), running > 0 { facts.append("\(running) running") }
    if case .object(let kinds) = plugin["failed"], !kinds.isEmpty {
      let list = kinds.map { "\(number($0.value) ?? 0) \($0.name.visible)" }.joined(separator: ", ")
      facts.append(style.bad("\(kinds.compactMap { number($0.value) }.reduce(0, &+)) failed") + " (\(list))")
    }
    if let restarts = number(plugin["restarts"]), restarts > 0 {
      facts.append(restarts == 1 ? "restarted once" : "restarted \(restarts) times")
    }
    if let last = number(plugin["lastNanoseconds"]) { facts.append("last took \(Self.milliseconds(last)) ms") }
    return "plugin \((plugin["name"]?.text ?? "").visible): \(facts.joined(separator: ", "))"
  }

  private func pluginState(_ plugin: JSON) -> String {
    let processes = (plugin["processIDs"]?.elements ?? []).compactMap { number($0) }
    let state =
      switch plugin["state"]?.text ?? "unknown" {
      case "notStarted": "not started"
      case "running": style.good("running") + (since(plugin).map { " for \($0)" } ?? "")
      case "down": style.bad("down")
      case let state: state.visible
      }
    guard let first = processes.first else { return state }
    return state + (processes.count == 1 ? ", process \(first)" : ", \(processes.count) processes")
  }

  private static func count(_ number: Int, _ one: String, _ several: String) -> String {
    "\(number) \(number == 1 ? one : several)"
  }

  private static func milliseconds(_ nanoseconds: Int) -> String {
    Decimal.text(Double(nanoseconds) / 1_000_000, digits: 1)
  }
}
