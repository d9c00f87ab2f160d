package import Foundation
import TestTools

/// The result of a transfer by curl.
package struct CurlAnswer: Sendable {
  /// curl's exit code: 0 success, 18 partial body, 92 stream reset, …
  package let exitCode: Int32
  package let status: Int
  /// "1.1" or "2".
  package let version: String
  /// All response heads, informational ones first; trailers are in ``trailers``.
  package let heads: [Head]
  package let trailers: [Field]
  package let body: Data
  /// Seconds to the first byte of the response, and to its end.
  package let timeToFirstByte: Double
  package let total: Double
  package let errorText: String

  package struct Field: Sendable, Equatable {
    package let name: String
    package let value: String
  }

  package struct Head: Sendable {
    package let status: Int
    package let fields: [Field]
  }

  package var text: String { String(decoding: body, as: UTF8.self) }

  /// Returns the values of a field of the final head, in order; `name` is in lower case.
  package func values(_ name: String) -> [String] {
    (heads.last?.fields ?? []).filter { $0.name == name }.map(\.value)
  }

  package func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    do {
      return try JSONDecoder().decode(type, from: body)
    } catch {
      throw PeerFailure("no \(type) in answer \(status), curl exit \(exitCode) \(errorText): \(text.prefix(500))")
    }
  }
}

/// Runs of curl with parsed results.
package enum Curl {
  /// - Parameter arguments: curl's arguments, URL included; options for output, heads and verbosity are added here.
  package static func fetch(_ arguments: String..., within limit: Duration = .seconds(30)) async throws -> CurlAnswer {
    try await fetch(arguments, within: limit)
  }

  package static func fetch(_ arguments: [String], within limit: Duration = .seconds(30)) async throws -> CurlAnswer {
    let folder = try TemporaryFolder()
    let own = ["-q", "-sS", "--noproxy", "", "-D", folder["heads"], "-o", folder["body"], "-w", "%{json}"]
    let result = try await Program.curl.run(own + arguments, within: limit)
    let heads = (try? Data(contentsOf: URL(filePath: folder["heads"]))) ?? Data()
    let (parsed, trailers) = read(heads: String(decoding: heads, as: UTF8.self))
    let facts = try? JSONDecoder().decode(Facts.self, from: result.output)
    return CurlAnswer(
      exitCode: result.exitCode, status: facts?.http_code ?? 0, version: facts?.http_version ?? "", heads: parsed,
      trailers: trailers, body: (try? Data(contentsOf: URL(filePath: folder["body"]))) ?? Data(),
      timeToFirstByte: facts?.time_starttransfer ?? 0, total: facts?.time_total ?? 0, errorText: result.errorText)
  }

  /// Returns the options with which curl writes to a file what it sends, for ``waitUntilSent(by:)``.
  package static func sending(to file: String) -> [String] { ["-v", "--stderr", file] }

  /// Waits until the curl that writes to this file has sent its request.
  package static func waitUntilSent(by file: String) async throws {
    let isSent = try await eventually { (try? String(contentsOfFile: file, encoding: .utf8))?.contains("> ") == true }
    guard isSent else { throw PeerFailure("curl has sent nothing") }
  }

  /// Downloads a body and returns its SHA-256 in hexadecimal.
  package static func digest(_ arguments: String..., within limit: Duration = .seconds(120)) async throws -> String {
    let script = #"openssl=$1; curl=$2; shift 2; "$curl" -q -sS "$@" | "$openssl" dgst -sha256 -r"#
    let result = try await Program.bash.run(
      ["-o", "pipefail", "-c", script, "digest", Program.openssl.path(), Program.curl.path()] + arguments,
      within: limit)
    guard result.exitCode == 0 else { throw PeerFailure("curl ended with \(result.exitCode): \(result.errorText)") }
    return String(result.text.prefix(64))
  }

  /// Variables of `--write-out`, with curl's names.
  private struct Facts: Decodable {
    let http_code: Int
    let http_version: String
    let time_starttransfer: Double
    let time_total: Double
  }

  /// Parses the dump of curl: the heads in order, then trailers without a status line.
  private static func read(heads text: String) -> (heads: [CurlAnswer.Head], trailers: [CurlAnswer.Field]) {
    var heads: [CurlAnswer.Head] = []
    var trailers: [CurlAnswer.Field] = []
    for block in text.replacing("\r\n", with: "\n").split(separator: "\n\n") {
      var lines = block.split(separator: "\n")
      var status: Int?
      if let first = lines.first, first.hasPrefix("HTTP/") {
        status = first.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        lines.removeFirst()
      }
      let fields = lines.compactMap { line -> CurlAnswer.Field? in
        guard let colon = line.firstIndex(of: ":") else { return nil }
        let value = line[line.index(after: colon)...].drop { $0 == " " }
        return CurlAnswer.Field(name: line[..<colon].lowercased(), value: String(value))
      }
      if let status { heads.append(.init(status: status, fields: fields)) } else { trailers += fields }
    }
    return (heads, trailers)
  }
}
