import ArgumentParser

/// An example of a configuration file: each option of a daemon as a comment, with its meaning and its default.
struct ConfigurationExample {
  /// `gateway.conf`
  let fileName: String
  let text: String

  static var all: [ConfigurationExample] {
    [ConfigurationExample(GatewayCommand.self), ConfigurationExample(ProxyCommand.self)]
  }

  private init(_ command: any ParsableCommand.Type) {
    let name = command._commandName
    fileName = "\(name).conf"
    let options = ArgumentFacts.all(of: command).filter(\.isForFiles)
    let intro = """
      An example of a configuration of byway \(name). byway.conf(5) describes the file, byway-\(name)(1) the options.
      The daemon byway-\(name)@NAME reads /etc/byway/NAME.conf: copy this file, and take the # away from what you set.
      For several in one daemon give each a section, [\(name) NAME], at the end of the file: what stands before the first holds for all.
      """
    text =
      (Self.comment(intro) + options.flatMap { [""] + Self.comment($0.explanation) + ["#\($0.setting)"] })
      .joined(separator: "\n") + "\n"
  }

  private static func comment(_ text: String) -> [String] {
    text.split(separator: "\n").flatMap { wrapped($0, to: 98) }.map { "# \($0)" }
  }

  private static func wrapped(_ text: Substring, to width: Int) -> [String] {
    text.split(separator: " ").reduce(into: []) { lines, word in
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] = "\(last) \(word)"
      } else {
        lines.append(String(word))
      }
    }
  }
}

extension ArgumentFacts {
  /// Its long name, without dashes.
  fileprivate var fileName: String? { names.first { $0.hasPrefix("--") }.map { String($0.dropFirst(2)) } }

  fileprivate var isForFiles: Bool {
    guard let fileName, isShown else { return false }
    return !["help", "version"].contains(fileName) && !Self.notForFiles.contains(names)
  }

  private static let notForFiles = ArgumentFacts.all(of: DaemonFileOptions.self).map(\.names)

  fileprivate var explanation: String {
    let choice = values.isEmpty ? [] : ["One of \(values.joined(separator: ", "))."]
    return ([abstract, discussion].filter { !$0.isEmpty } + choice).joined(separator: " ")
  }

  /// The setting as a line: `drain = 10`, or `origin = ORIGIN` if there is no default.
  fileprivate var setting: String {
    let value = kind == .flag ? "yes" : defaultValue ?? writtenDefault ?? valueName.uppercased()
    return "\(fileName ?? "") = \(value)"
  }

  /// The default that only the help contains, as in "(default: 1024, or what the limit of open files allows)".
  private var writtenDefault: String? {
    guard let start = abstract.firstRange(of: "(default: ")?.upperBound else { return nil }
    let value = abstract[start...].prefix { $0 != ")" && $0 != "," && $0 != " " }
    return value.isEmpty || value.first == "$" ? nil : String(value)
  }
}
