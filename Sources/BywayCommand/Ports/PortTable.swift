import Byway
import NIOCore

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

  /// What is not known is left out.
  var json: String {
    var buffer = ByteBuffer(string: "[")
    for (index, port) in ports.enumerated() {
      buffer.writeString(index == 0 ? "\n  {" : ",\n  {")
      let members = [
        ("address", port.address), ("device", port.device), ("name", port.name), ("obstacle", port.obstacle),
      ]
      var separator = ""
      for case (let key, let value?) in members {
        buffer.writeString(separator)
        buffer.writeJSON(key)
        buffer.writeString(": ")
        buffer.writeJSON(value)
        separator = ", "
      }
      buffer.writeString("}")
    }
    buffer.writeString(ports.isEmpty ? "]\n" : "\n]\n")
    return String(buffer: buffer)
  }
}
