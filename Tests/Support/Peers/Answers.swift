/// What origin.py's /echo saw.
package struct Echo: Decodable, Sendable {
  package let method: String
  package let target: String
  package let version: String
  package let fields: [[String]]
  package let trailers: [[String]]
  package let body: String
  package let connection: Int
  package let request: Int

  /// The name in lower case.
  package func values(_ name: String) -> [String] {
    fields.filter { $0.count == 2 && $0[0].lowercased() == name }.map { $0[1] }
  }
}

/// What origin.py's /digest counted.
package struct Upload: Decodable, Sendable, Equatable {
  package let length: Int
  package let sha256: String

  package init(length: Int, sha256: String) {
    self.length = length
    self.sha256 = sha256
  }
}

/// One line of origin.py's /uploads.
package struct UploadRecord: Decodable, Sendable {
  package let complete: Bool
  package let length: Int
}

/// What origin.py's /count counted.
package struct Count: Decodable, Sendable {
  package let posts: Int
}

/// What h2client.py got.
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

/// What h2raw.py saw of the server.
package struct RawAnswer: Decodable, Sendable {
  package let goaway: Int?
  /// The words that came with it.
  package let reason: String
  /// How many streams were reset, by error code.
  package let resets: [String: Int]
  package let statuses: [Int]
  package let length: Int
  package let pings: Int
  package let settings: Int
  package let closed: Bool
  package let seconds: Double
  package let first: String
}

/// What a WebSocket client got back.
package struct WebSocketAnswer: Decodable, Sendable {
  package let status: Int
  package let echoed: [Int]
}

/// When server-sent events came.
package struct EventsAnswer: Decodable, Sendable {
  package let status: Int
  package let count: Int
  /// Seconds from an event's sending to its arrival.
  package let slowest: Double
}

/// What many requests at once got.
package struct BurstAnswer: Decodable, Sendable {
  package let statuses: [Int]
  package let answers: Int
  /// How many different bodies there were.
  package let bodies: Int
}

/// What a slow reader got.
package struct CrawlAnswer: Decodable, Sendable {
  package let status: Int
  package let length: Int
  package let sha256: String
}

/// What a text sent as it is was answered with.
package struct RawTextAnswer: Decodable, Sendable {
  package let text: String
  /// `closed`, `reset` or `open`.
  package let end: String
  package let seconds: Double
}
