/// The part of a program that answers requests, by the server's functions.
protocol Service: ~Copyable {
  /// Whether the service looks at the request's field of this name, which is in lower case. Others are dropped as they arrive.
  static func wants(_ name: Span<UInt8>) -> Bool

  /// Takes an event of the server's current request.
  /// - Returns: for ``Event/body`` how many bytes it took of those of `withBody`. The rest comes again at the next call.
  mutating func handle(_ event: Event, of server: inout Server) -> Int
}

/// An event of a request.
enum Event: UInt8 {
  /// The head of a request is here. The service may answer now or later.
  case request
  /// Bytes of its body are here.
  case body
  /// It is complete. The service may answer now or later.
  case end
  /// The answer can go on: there is room for bytes of it, or for the answer itself if it had none before.
  case room
  /// It is over before its answer was complete, for example because the peer is gone.
  case gone
}
