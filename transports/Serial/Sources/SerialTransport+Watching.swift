package import Byway
package import Logging

extension SerialTransport: PortWatching {
  package func portLists(in folder: String?, query: String, logger: Logger) -> AsyncStream<[LinkPort]> {
    PortLookout(place: folder.map { .folder($0) } ?? .usb, query: query, logger: logger).lists()
  }
}
