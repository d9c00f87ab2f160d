import BywayPrimitives
package import Logging

/// A transport that can watch its ports.
package protocol PortWatching: PortListing {
  /// Returns the list of ports, at once and after each change. Ends when it has no reader any more.
  /// - Parameters:
  ///   - folder: the folder with the ports; `nil`: all removable ports.
  ///   - query: the end of each address: `?baud=921600`, or empty.
  ///   - configured: returns links whose ports are left out; called for each list. Any thread.
  ///   - logger: gets one message if the ports must be polled.
  func portLists(
    in folder: String?, query: String, besides configured: @escaping @Sendable () -> [LinkAddress], logger: Logger
  ) -> AsyncStream<[LinkPort]>
}

/// The ports to watch, as a user writes them: `serial`, `serial:/dev/serial/by-id`, `serial?baud=921600`.
package struct WatchedPorts: Sendable {
  package let text: String
  private let transport: any PortWatching
  private let folder: String?
  private let query: String

  /// - Throws: ``BywayError`` if no transport can watch them.
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
    // Checks the options as those of a link.
    _ = try transports.link("\(scheme):\(folder ?? "")/port\(query)")
  }

  /// Returns the list of ports, at once and after each change. Ends when it has no reader any more.
  /// - Parameter configured: returns links whose ports are in use. A change takes effect within ten seconds.
  package func lists(
    besides configured: @escaping @Sendable () -> [LinkAddress] = { [] }, logger: Logger
  ) -> AsyncStream<[LinkPort]> {
    transport.portLists(in: folder, query: query, besides: configured, logger: logger)
  }
}
