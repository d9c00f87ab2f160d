package import BywayHTTPWire

/// Keeps the data of sites apart: the remote end of an upstream has siblings whose hosts share a domain with its own.
package protocol SiblingRules: AnyObject, Sendable {
  /// Removes from a response's fields what would affect siblings of its sender. On the upstream's event loop.
  func keepApart(_ fields: inout FieldSection, of request: ExchangeHead)
}
