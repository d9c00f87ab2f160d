/// A report in version 13 of the Test Anything Protocol.
struct TestReport: Sendable {
  let count: Int
  private(set) var done = 0
  private(set) var failures = 0
  private var skipped = 0
  private var omitted = 0

  init(count: Int) {
    self.count = count
  }

  var plan: [String] { ["TAP version 13", "1..\(count)"] }

  mutating func pass(_ script: Script) -> String {
    done += 1
    return "ok \(done) - \(title(script))"
  }

  mutating func skip(_ script: Script, _ reason: String) -> String {
    done += 1
    skipped += 1
    return "ok \(done) - \(title(script)) # SKIP \(reason)"
  }

  mutating func fail(_ script: Script, step: String, reason: String, _ transcript: [String]) -> String {
    done += 1
    if script.isOptional { omitted += 1 } else { failures += 1 }
    let note = script.isOptional ? " # TODO an end may leave this out" : ""
    let lines = [
      "not ok \(done) - \(title(script))\(note)", "  ---", "  step: '\(step)'", "  message: '\(reason)'",
      "  said_and_heard:",
    ]
    return (lines + transcript.map { "    - '\($0)'" } + ["  ..."]).joined(separator: "\n")
  }

  mutating func bailOut(_ reason: String) -> String {
    failures += 1
    return "Bail out! \(reason)"
  }

  var summary: String {
    "# \(done - failures - skipped - omitted) passed, \(failures) failed, \(skipped) skipped, \(omitted) left out"
  }

  private func title(_ script: Script) -> String { "§\(script.section) \(script.name)" }
}
