import Byway
import BywayInterceptors
import Foundation
import FoundationNetworking
import NIOCore

/// A decoder of one content coding, with the errors that users of `URLSession` expect.
final class ContentDecoder: BodyCoder {
  private let decoder: any BodyCoder

  init(_ coding: ContentCoding) {
    let subject = "The response's body, compressed by the origin,"
    decoder =
      switch coding {
      case .gzip: GzipDecoder(.gzip, expecting: nil, of: subject)
      case .deflate: GzipDecoder(.deflate, expecting: nil, of: subject)
      case .brotli(let library): BrotliDecoder(library, of: subject)
      }
  }

  func code(_ bytes: inout ByteBuffer, into result: inout ByteBuffer) throws {
    try translating { try decoder.code(&bytes, into: &result) }
  }

  func flush(into result: inout ByteBuffer) throws -> Bool {
    try translating { try decoder.flush(into: &result) }
  }

  func finish(into result: inout ByteBuffer) throws {
    try translating { try decoder.finish(into: &result) }
  }

  private func translating<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch { throw URLError(.cannotDecodeContentData, BywayError(error), at: nil) }
  }
}
