import Byway
import BywayPlugins
import BywayPrimitives
import NIOCore

extension PluginStatus {
  /// As in docs/status.schema.json.
  var json: JSON {
    let kinds = figures.failures.map { JSON.Member($0.key.rawValue, .number($0.value)) }.sorted { $0.name < $1.name }
    var since: NIODeadline?
    var reason: String?
    var next: NIODeadline?
    let word: String
    switch state {
    case .notStarted: word = "notStarted"
    case .idle: word = "idle"
    case .running(let start): (word, since) = ("running", start)
    case .starting(let cause, let attempt): (word, reason, next) = (cause == nil ? "starting" : "down", cause, attempt)
    }
    return [
      "name": .string(name), "link": .string(link), "state": .string(word),
      "since": since.map { .time(.secondsSinceEpoch(of: $0)) }, "reason": reason.map { .string($0) },
      "nextAttempt": next.map { .time(.secondsSinceEpoch(of: $0)) },
      "processIDs": processIDs.isEmpty ? nil : .array(processIDs.map { .number(Int($0)) }),
      "requests": .number(figures.requests), "running": .number(running), "failed": .object(kinds),
      "restarts": .number(restarts), "totalNanoseconds": .number(Int(figures.time.nanoseconds)),
      "lastNanoseconds": figures.lastTime.map { .number(Int($0.nanoseconds)) },
    ]
  }
}
