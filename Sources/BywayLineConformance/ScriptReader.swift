/// An error in the text of a script.
package struct ScriptError: Error, Equatable, CustomStringConvertible {
  package var line: Int
  package var message: String

  package var description: String { "line \(line): \(message)" }
}

/// Reads scripts from text: blocks of lines with an empty line between them.
package struct ScriptReader {
  package private(set) var scripts: [Script] = []
  package private(set) var openings: [Opening] = []

  package init(_ text: String) throws(ScriptError) {
    var block: [(number: Int, text: Substring)] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let line = line.drop { $0 == " " }
      if line.isEmpty {
        try read(block)
        block = []
      } else if line.first != "#" {
        block.append((index + 1, line))
      }
    }
    try read(block)
  }

  private mutating func read(_ block: [(number: Int, text: Substring)]) throws(ScriptError) {
    guard let first = block.first else { return }
    var headers: [String: String] = [:]
    var steps: [Step] = []
    for (number, text) in block {
      let parts = text.split(separator: ":", maxSplits: 1)
      if steps.isEmpty, parts.count == 2, Self.headers.contains(String(parts[0])) {
        headers[String(parts[0])] = String(parts[1].drop { $0 == " " })
      } else {
        do throws(StepError) {
          steps.append(Step(action: try StepReader(text).action(), text: String(text)))
        } catch {
          throw ScriptError(line: number, message: error.message)
        }
      }
    }
    do throws(StepError) {
      if let state = headers["state"] {
        openings += try Self.roles(headers).map {
          Opening(state: state, role: $0, excuse: headers["excuse"], steps: steps)
        }
      } else {
        scripts.append(try Self.script(headers, steps))
      }
    } catch {
      throw ScriptError(line: first.number, message: error.message)
    }
  }

  private static let headers: Set<String> = [
    "name", "section", "end", "begin", "needs", "long", "optional", "units", "state", "excuse",
  ]

  private static func script(_ headers: [String: String], _ steps: [Step]) throws(StepError) -> Script {
    guard let name = headers["name"], let section = headers["section"], let state = headers["begin"] else {
      throw StepError("a script has the lines name, section, end and begin")
    }
    var needs: Set<Script.Need> = []
    for word in (headers["needs"] ?? "").split(separator: " ") {
      guard let need = Script.Need(rawValue: String(word)) else { throw StepError("nothing can need \(word)") }
      needs.insert(need)
    }
    return Script(
      name: name, section: section, roles: try roles(headers), state: state, needs: needs,
      isOptional: headers["optional"] == "yes", isLong: headers["long"] == "yes",
      units: headers["units"].flatMap { Int($0) } ?? 0, steps: steps)
  }

  private static func roles(_ headers: [String: String]) throws(StepError) -> [Script.Role] {
    let text = headers["end"] ?? ""
    if text == "both" { return Script.Role.allCases }
    guard let role = Script.Role(rawValue: text) else {
      throw StepError("an end is dial, listen or both, not \"\(text)\"")
    }
    return [role]
  }
}

/// An error in a step. The reader adds the line.
struct StepError: Error {
  let message: String

  init(_ message: String) {
    self.message = message
  }
}
