extension LogFormat {
  /// Returns the last value of `--log-format`, which counts for a parser as well; `nil` if there is none or it is unknown.
  package static func asked(in arguments: [String]) -> LogFormat? {
    let option = "--log-format"
    let values = arguments.indices.compactMap { index in
      if arguments[index].hasPrefix("\(option)=") {
        String(arguments[index].dropFirst(option.count + 1))
      } else if arguments[index] == option, index + 1 < arguments.count {
        arguments[index + 1]
      } else {
        nil as String?
      }
    }
    return values.last.flatMap(LogFormat.init)
  }
}
