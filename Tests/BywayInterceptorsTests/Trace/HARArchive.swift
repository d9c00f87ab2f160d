import Foundation

/// The required content of a HAR 1.2 file as types: decoding fails if something is missing.
struct HARArchive: Decodable {
  struct Log: Decodable {
    let version: String
    let creator: Creator
    let entries: [Entry]
  }
  struct Creator: Decodable {
    let name, version: String
  }
  struct Entry: Decodable {
    let startedDateTime: String
    let time: Double
    let request: Request
    let response: Response
    let cache: [String: String]
    let timings: Timings
    let _notes: [Note]?
  }
  struct Note: Decodable, Equatable {
    let plugin, text: String
  }
  struct Pair: Decodable, Equatable {
    let name, value: String
  }
  struct Request: Decodable {
    let method, url, httpVersion: String
    let cookies, headers, queryString: [Pair]
    let postData: PostData?
    let headersSize, bodySize: Int
  }
  struct PostData: Decodable {
    let mimeType: String
    let params: [Pair]
    let text: String
    let _encoding, comment: String?
  }
  struct Response: Decodable {
    let status: Int
    let statusText, httpVersion: String
    let cookies, headers: [Pair]
    let content: Content
    let redirectURL: String
    let headersSize, bodySize, _transferSize: Int
    let _error: String?
  }
  struct Content: Decodable {
    let size: Int
    let mimeType: String
    let text, encoding, comment: String?
  }
  struct Timings: Decodable {
    let send, wait, receive: Double
  }

  let log: Log

  static func read(_ path: String) throws -> Log {
    try JSONDecoder().decode(HARArchive.self, from: Data(contentsOf: URL(filePath: path))).log
  }
}
