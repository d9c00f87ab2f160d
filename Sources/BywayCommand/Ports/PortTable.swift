import Byway
import NIOCore
import Primitives

/// The ports of this machine, as people and as programs read them.
struct PortTable: Sendable {
  private let ports: [LinkPort]

  init(_ ports: [LinkPort]) {
    self.ports = ports
  }

  var isEmpty: Bool { ports.isEmpty }

  /// Columns; the address comes first, so that `cut` finds it.
  var text: String {
    let rows = ports.map { port in
      [port.address, port.device, port.name ?? "", port.obstacle.map { "(\($0))" } ?? ""]
    }
    return TextColumns.lines(rows)
  }

  /// One port on each line; what is not known is left out.
  var json: String {
    let lines = ports.map { port in
      let object: JSON = [
        "address": .string(port.address), "device": .string(port.device), "name": port.name.map { .string($0) },
        "obstacle": port.obstacle.map { .string($0) },
      ]
      return "\n  \(object)"
    }
    return "[\(lines.joined(separator: ","))\(lines.isEmpty ? "" : "\n")]\n"
  }
}
