package import Byway
package import Logging

extension SerialTransport: PortWatching {
  package func portLists(
    in folder: String?, query: String, besides configured: @escaping @Sendable () -> [LinkAddress], logger: Logger
  ) -> AsyncStream<[LinkPort]> {
    PortMonitor(place: folder.map { .folder($0) } ?? .usb, query: query, configured: configured, logger: logger).lists()
  }
}
