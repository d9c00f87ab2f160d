/// The manual: a page for `byway`, one for each command, and those of the files that it reads.
enum Manual {
  /// Returns all pages; none if the parser's description has an unexpected form.
  static func pages() -> [ManualPage] {
    guard let root = CommandFacts(RootCommand.self) else { return [] }
    return [overview(root)] + root.subcommands.map { page(of: $0) } + FilePages.all
  }

  private static func overview(_ root: CommandFacts) -> ManualPage {
    let others = root.subcommands.map { "byway-\($0.name)(1)" } + FilePages.all.map { "\($0.name)(\($0.section))" }
    return ManualPage(
      "byway", section: 1, abstract: root.abstract,
      [.heading("Synopsis"), .text("byway COMMAND [OPTIONS]"), .heading("Description"), .text(root.discussion)]
        + [.heading("Commands")] + root.subcommands.map { .item($0.name, $0.abstract) } + [.heading("Exit status")]
        + exitStatus + [.heading("See also"), .text(others.joined(separator: ", "))])
  }

  private static func page(of command: CommandFacts) -> ManualPage {
    let title = "byway \(command.name)"
    var paragraphs: [ManualPage.Paragraph] = [.heading("Synopsis"), .text(synopsis(command, title))]
    paragraphs += [.heading("Description"), .text(command.abstract), .text(command.discussion)]
    paragraphs += options(of: command)
    if !command.subcommands.isEmpty {
      paragraphs.append(.heading("Commands"))
      for leaf in leaves(of: command, title) {
        paragraphs += [
          .subheading(synopsis(leaf.facts, leaf.title)), .text(leaf.facts.abstract), .text(leaf.facts.discussion),
        ]
        paragraphs += leaf.facts.arguments.filter(\.isNamedInManual).map(item)
      }
    }
    paragraphs += [.heading("See also"), .text("byway(1)")]
    return ManualPage("byway-\(command.name)", section: 1, abstract: command.abstract, paragraphs)
  }

  private static func leaves(of command: CommandFacts, _ title: String) -> [(facts: CommandFacts, title: String)] {
    command.subcommands.flatMap { child -> [(facts: CommandFacts, title: String)] in
      let title = "\(title) \(child.name)"
      return child.subcommands.isEmpty ? [(child, title)] : leaves(of: child, title)
    }
  }

  private static func synopsis(_ command: CommandFacts, _ title: String) -> String {
    let positional = command.arguments.filter { $0.kind == .positional }.map {
      $0.isOptional ? "[\($0.valueName.uppercased())]" : $0.valueName.uppercased()
    }
    let rest = command.subcommands.isEmpty ? positional : ["COMMAND"]
    let hasOptions = command.arguments.contains { $0.kind != .positional && $0.isNamedInManual }
    return ([title] + (hasOptions ? ["[OPTIONS]"] : []) + rest).joined(separator: " ")
  }

  private static func options(of command: CommandFacts) -> [ManualPage.Paragraph] {
    let arguments = command.arguments.filter(\.isNamedInManual)
    guard !arguments.isEmpty else { return [] }
    var paragraphs: [ManualPage.Paragraph] = [.heading("Options")]
    var section: String?
    for argument in arguments.filter({ $0.section == nil }) + arguments.filter({ $0.section != nil }) {
      if let title = argument.section, title != section { paragraphs.append(.subheading(title)) }
      section = argument.section
      paragraphs.append(item(argument))
    }
    return paragraphs
  }

  private static func item(_ argument: ArgumentFacts) -> ManualPage.Paragraph {
    let value = argument.kind == .option ? " \(argument.valueName.uppercased())" : ""
    let term =
      argument.kind == .positional ? argument.valueName.uppercased() : argument.names.joined(separator: ", ") + value
    var text = [argument.abstract, argument.discussion].filter { !$0.isEmpty }.joined(separator: " ")
    if !argument.values.isEmpty { text += " One of \(argument.values.joined(separator: ", "))." }
    if let value = argument.defaultValue { text += " Default: \(value)." }
    return .item(term, text)
  }

  private static let exitStatus: [ManualPage.Paragraph] = [
    .item("0", "Done; a daemon was stopped by a signal."),
    .item("1", "line --conform: a check has failed."),
    .item("22", "request --fail: the server answered with 400 or more."),
    .item("64", "The command line or a configuration file is wrong."),
    .item("66", "A file to be read cannot be read."),
    .item("69", "No complete answer came, because of the link, the gateway or the origin, or in time."),
    .item("70", "A fault of this program."), .item("73", "An output file cannot be made."),
    .item("74", "The received data cannot be written."),
  ]
}

extension ArgumentFacts {
  /// Whether it is specific to its command: every command has --help and --version.
  fileprivate var isNamedInManual: Bool { !names.contains("--help") && !names.contains("--version") }
}
