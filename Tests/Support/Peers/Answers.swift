/// A request as origin.py's /echo received it.
package struct Echo: Decodable, Sendable {
  package let method: String
  package let target: String
  package let version: String
  package let fields: [[String]]
  package let trailers: [[String]]
  package let body: String
  package let connection: Int
  package let request: Int

  /// Returns the values of a field; `name` is in lower case.
  package func values(_ name: String) -> [String] {
    fields.filter { $0.count == 2 && $0[0].lowercased() == name }.map { $0[1] }
  }
}

/// The length and digest of a body that origin.py's /digest received.
package struct Upload: Decodable, Sendable, Equatable {
  package let length: Int
  package let sha256: String

  package init(length: Int, sha256: String) {
    self.length = length
    self.sha256 = sha256
  }
}

/// A line of the list at origin.py's /uploads.
package struct UploadRecord: Decodable, Sendable {
  package let complete: Bool
  package let length: Int
}

/// The number of POSTs that origin.py's /count received.
package struct Count: Decodable, Sendable {
  package let posts: Int
}

/// The responses that h2client.py received.
package struct H2Answers: Decodable, Sendable {
  package struct Response: Decodable, Sendable {
    package let status: Int
    package let fields: [[String]]
    package let informational: [[[String]]]
    package let trailers: [[String]]
    package let length: Int
    package let sha256: String
    package let text: String
    /// `complete`, `reset CODE` or `none`.
    package let end: String
  }

  package let responses: [Response]
  package let goaway: Int?
}

/// The server's reaction as h2raw.py recorded it.
package struct RawAnswer: Decodable, Sendable {
  package let goaway: Int?
  /// The debug data of the GOAWAY frame.
  package let reason: String
  /// The number of reset streams by error code.
  package let resets: [String: Int]
  package let statuses: [Int]
  package let length: Int
  package let pings: Int
  package let settings: Int
  package let closed: Bool
  package let seconds: Double
  package let first: String
}

/// The messages that a WebSocket client received.
package struct WebSocketAnswer: Decodable, Sendable {
  package let status: Int
  package let echoed: [Int]
}

/// The arrival of server-sent events.
package struct EventsAnswer: Decodable, Sendable {
  package let status: Int
  package let count: Int
  /// The longest time from an event's sending to its arrival, in seconds.
  package let slowest: Double
}

/// The responses to many concurrent requests.
package struct BurstAnswer: Decodable, Sendable {
  package let statuses: [Int]
  package let answers: Int
  /// The number of different bodies.
  package let bodies: Int
}

/// The bytes that a slow reader received.
package struct CrawlAnswer: Decodable, Sendable {
  package let status: Int
  package let length: Int
  package let sha256: String
}

/// The response to a request sent as raw text.
package struct RawTextAnswer: Decodable, Sendable {
  package let text: String
  /// `closed`, `reset` or `open`.
  package let end: String
  package let seconds: Double
}
