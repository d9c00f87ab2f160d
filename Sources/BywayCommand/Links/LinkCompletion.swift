import ArgumentParser
import Byway

extension CompletionKind {
  /// The names of links, the ports of this machine, and the schemes of addresses.
  static var links: CompletionKind {
    .custom { _, _, _ in LinkCompletion.candidates(CommandContext.transports) }
  }
}

enum LinkCompletion {
  static func candidates(_ transports: TransportRegistry) -> [String] {
    // Completion offers what exists, and does not report errors.
    let names = (try? NamedLinks())?.entries.map(\.name) ?? []
    let ports = (try? transports.ports())?.map(\.address) ?? []
    return names + ports + transports.schemes.map { "\($0):" }
  }
}
