package import Logging
import Primitives

/// A transport that can tell when its ports come and go. `--discover` asks it.
package protocol PortWatching: PortListing {
  /// The ports that there are, at once, and again whenever they are others. Ends when nobody reads it any more.
  /// - Parameters:
  ///   - folder: whose entries are the ports; `nil`: whatever can be plugged in.
  ///   - query: what stands after each address: `?baud=921600`, or nothing.
  ///   - configured: links whose ports are left out, asked for anew each time. Any thread.
  ///   - logger: is told once where ports can only be looked for.
  func portLists(
    in folder: String?, query: String, besides configured: @escaping @Sendable () -> [LinkAddress], logger: Logger
  ) -> AsyncStream<[LinkPort]>
}

/// Ports to watch, as a user names them: `serial`, `serial:/dev/serial/by-id`, `serial?baud=921600`.
package struct WatchedPorts: Sendable {
  package let text: String
  private let transport: any PortWatching
  private let folder: String?
  private let query: String

  /// - Throws: ``BywayError`` where no transport can watch them.
  package init(_ text: String, transports: TransportRegistry) throws {
    let place = text.prefix { $0 != "?" }
    let parts = place.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let scheme = parts[0].lowercased()
    guard let transport = transports.transport(scheme) as? any PortWatching else {
      let known = transports.schemes.filter { transports.transport($0) is any PortWatching }
      throw BywayError(
        .unknownScheme, "Nothing can be discovered by \"\(parts[0])\".\(Spelling.hint(for: scheme, among: known))")
    }
    self.text = text
    self.transport = transport
    query = String(text[place.endIndex...])
    folder = parts.count == 2 && !parts[1].isEmpty ? String(parts[1]) : nil
    guard folder?.hasPrefix("/") ?? true else {
      throw BywayError(
        .invalidAddress, "\"\(text)\" has no folder: write \(scheme), or \(scheme):/FOLDER for the ports in a folder.")
    }
    // The options are those of each link.
    _ = try transports.link("\(scheme):\(folder ?? "")/port\(query)")
  }

  /// The ports that there are, at once, and again whenever they are others. Ends when nobody reads it any more.
  /// - Parameter configured: links whose ports are somebody's already. What it says counts within ten seconds.
  package func lists(
    besides configured: @escaping @Sendable () -> [LinkAddress] = { [] }, logger: Logger
  ) -> AsyncStream<[LinkPort]> {
    transport.portLists(in: folder, query: query, besides: configured, logger: logger)
  }
}
