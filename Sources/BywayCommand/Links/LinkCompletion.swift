import ArgumentParser
import Byway

extension CompletionKind {
  /// Names of links, ports of this machine, and the schemes of addresses.
  static var links: CompletionKind {
    .custom { _, _, _ in LinkCompletion.candidates(CommandContext.transports) }
  }
}

enum LinkCompletion {
  static func candidates(_ transports: TransportRegistry) -> [String] {
    // Whoever completes wants what there is, and no complaint about the rest.
    let names = (try? LinkBook())?.entries.map(\.name) ?? []
    let ports = (try? transports.ports())?.map(\.address) ?? []
    return names + ports + transports.schemes.map { "\($0):" }
  }
}
