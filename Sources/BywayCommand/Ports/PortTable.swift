import Byway
import BywayPrimitives
import NIOCore

/// The ports of this machine as text and as JSON.
struct PortTable: Sendable {
  static let noPorts = "No ports were found. Plug the adapter in; \"dmesg\" shows whether the system has seen it."

  private let ports: [LinkPort]

  init(_ ports: [LinkPort]) {
    self.ports = ports
  }

  var isEmpty: Bool { ports.isEmpty }

  /// The ports in columns. The address comes first, so that `cut` finds it.
  var text: String {
    let rows = ports.map { port in
      [port.address, port.device, port.name ?? "", port.unavailableReason.map { "(\($0))" } ?? ""]
    }
    return TextColumns.lines(rows)
  }

  /// The ports with one on each line. Unknown members are omitted.
  var json: String {
    let lines = ports.map { port in
      let object: JSON = [
        "address": .string(port.address), "device": .string(port.device), "name": port.name.map { .string($0) },
        "reason": port.unavailableReason.map { .string($0) },
      ]
      return "\n  \(object)"
    }
    return "[\(lines.joined(separator: ","))\(lines.isEmpty ? "" : "\n")]\n"
  }
}
