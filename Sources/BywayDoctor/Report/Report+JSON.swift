import Byway
package import BywayPrimitives

extension Report {
  /// The report in the format of docs/doctor.schema.json.
  package var json: JSON {
    var diagnosis: Diagnosis?
    if case .noted(let one) = verdict { diagnosis = one }
    if case .wrong(let one) = verdict { diagnosis = one }
    return [
      "schema": 1, "link": .string(link), "verdict": .string(word),
      "fault": diagnosis.map { .string($0.fault.rawValue) },
      "sentence": .string(line), "command": diagnosis?.commandLine.map { .string($0) },
      "seconds": Self.seconds(duration),
      "steps": .array(steps.map(Self.json)),
    ]
  }

  private static func json(_ step: LinkStep) -> JSON {
    [
      "check": .string(step.title), "outcome": .string(step.word), "saw": step.saw.map { .string($0) },
      "fault": step.diagnosis.map { .string($0.fault.rawValue) },
      "sentence": step.diagnosis.map { .string($0.sentence) },
      "command": step.diagnosis?.commandLine.map { .string($0) }, "seconds": seconds(step.duration),
    ]
  }

  private var word: String {
    switch verdict {
    case .sound: "sound"
    case .noted: "noted"
    case .wrong: "wrong"
    case .unfinished: "unfinished"
    }
  }

  /// Returns seconds with three decimals.
  private static func seconds(_ duration: Duration) -> JSON {
    .number(Double(Int(duration / .milliseconds(1))) / 1000)
  }
}
