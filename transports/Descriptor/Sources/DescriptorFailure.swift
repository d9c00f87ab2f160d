import Byway
import BywayPrimitives
import NIOCore

/// The messages for failures, in the user's terms.
enum DescriptorFailure {
  static func missing(_ address: LinkAddress, among held: HeldSockets) -> BywayError {
    let known = held.all.map { "fd:\(($0.name ?? "\($0.descriptor)").visible)" }
    if !known.isEmpty {
      return unavailable(
        "\(address) was not handed over, but \(known.joined(separator: " ")): correct the name here, or "
          + "FileDescriptorName= in the .socket unit.")
    }
    switch held.announcement {
    case .toAnother(let process):
      return unavailable(
        "\(address) was handed to process \(process), not to this one: start this with exec, without a shell that waits."
      )
    case .toUs:
      return unavailable(
        "The descriptor for \(address) is not a listening stream socket: write ListenStream=, and Accept=no.")
    case .none:
      return unavailable(
        "\(address) is a socket that a service manager opens, and none was handed over: start the .socket unit of this "
          + "service, or write an address, unix:PATH for example.")
    }
  }

  static func onlyListens(_ address: LinkAddress) -> BywayError {
    unavailable("\(address) is a socket to listen on, and this end dials: write where the far end listens.")
  }

  static func inUse(_ address: LinkAddress) -> BywayError {
    unavailable("\(address) is already listened on by this process: name each socket once.")
  }

  static func open(_ address: LinkAddress, _ place: SocketAddress) -> BywayError {
    BywayError(.linkUnavailable, advice: .allowOtherMachines, processing: .none) { advice in
      "\(address) listens on \(place.ipAddress ?? ""):\(place.port ?? 0), which other machines reach, and nothing "
        + "protects it: write 127.0.0.1 into ListenStream=, or a path. \(advice)"
    }
  }

  static func unknownFamily(_ address: LinkAddress) -> BywayError {
    unavailable("\(address) is neither a Unix socket nor TCP: write a path or a port into ListenStream=.")
  }

  static func listening(on address: LinkAddress, _ error: any Error) -> BywayError {
    (error as? BywayError)
      ?? BywayError(
        .linkUnavailable, "Cannot listen on \(address).", processing: .none, cause: error)
  }

  private static func unavailable(_ message: String) -> BywayError {
    BywayError(.linkUnavailable, message, processing: .none)
  }
}
