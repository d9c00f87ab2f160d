/// Hints about the values of options. The parser itself lists them only for options with a few values.
package enum ValueHint {
  /// Returns the hint to append to the parser's message about a value. Empty if the message has one already, or is about something
  /// else.
  /// - Parameter message: "The value 'soon' is invalid for '--drain <seconds>'"
  package static func text(for message: String) -> String {
    guard message.contains("is invalid for '-"), !message.contains("Please provide"),
      let start = message.lastIndex(of: "<"),
      let end = message[start...].firstIndex(of: ">")
    else { return "" }
    let value = message[message.index(after: start)..<end]
    return text(ofKind: String(value))
  }

  /// - Parameter kind: The name of the value in the help: "seconds".
  package static func text(ofKind kind: String) -> String {
    hints[kind].map { " Write \($0)." } ?? ""
  }

  private static let hints = [
    "seconds": "a number of seconds, such as 5 or 0.5",
    "time": "a time such as 5ms, 1.5s or 2min",
    "share": "a share such as 1e-5 or 0.1%",
    "kind@time[+length]":
      "a kind of cut (stall, lose, hang-up or rename), when it begins and how long it lasts, such as hang-up@3s+5s",
    "length/every@share": "how many bytes in a row of how many, and their share of wrong bits, such as 50/10000@0.1",
    "count": "a number such as 10", "rate": "a number such as 115200", "bytes": "a number of bytes, such as 4096",
    "number": "a number", "size": "a number of bytes, such as 4096, 64K or 1M",
  ]
}
