/// The part of a program that answers requests, with the functions of the server.
protocol Service: ~Copyable {
  /// Whether the service uses the field with this name, which is in lower case. Other fields are dropped as they arrive.
  static func wants(_ name: Span<UInt8>) -> Bool

  /// Handles an event of the server's current request.
  /// - Returns: for ``Event/body``, how many bytes of `withBody` it took. The rest comes again in the next call.
  mutating func handle(_ event: Event, of server: inout Server) -> Int
}

/// An event of a request.
enum Event: UInt8 {
  /// The head of a request has arrived. The service may answer now or later.
  case request
  /// Bytes of the body have arrived.
  case body
  /// The request is complete. The service may answer now or later.
  case end
  /// The answer can continue: there is room for bytes of it, or for its head if there was none before.
  case room
  /// The request ended before its answer was complete, for example because the peer is gone.
  case gone
}
