/// The fields of a connection or of a message's framing, which only Byway itself may set.
package enum ConnectionFields {
  /// The names in lower case.
  package static let names: Set<String> = [
    "connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]
}
