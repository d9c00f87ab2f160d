import HTTPTypes
import NIOCore
import NIOPosix

extension BywayClient {
  /// The progress of a download.
  public struct DownloadProgress: Sendable, Hashable {
    /// Bytes in the file, including those of earlier attempts.
    public var received: Int
    /// Bytes in total, if the origin reports them.
    public var total: Int?
  }

  /// Downloads to a file as the content arrives: memory does not grow with the file.
  ///
  /// The content is kept next to the file, in `PATH.part`, which becomes the file at the end. The download continues where it was after the
  /// link was lost, and when it is called again after a failure or a cancellation, if the origin can show that the content is unchanged
  /// (RFC 9110 §13.1.5). Otherwise it starts over.
  /// - Parameters:
  ///   - url: the URL, for a GET request.
  ///   - path: the file, replaced at the end if it exists.
  ///   - report: called after each chunk, never concurrently.
  /// - Returns: the number of bytes in the file.
  /// - Throws: ``BywayError``; code `refused` if the origin's response is not a success.
  @discardableResult
  public func download(
    _ url: String, to path: String, reporting report: (@Sendable (DownloadProgress) -> Void)? = nil
  ) async throws -> Int {
    try await download(Request(url: url), to: path, reporting: report)
  }

  /// Downloads with a request that has its own fields; its method is GET.
  @discardableResult
  public func download(
    _ request: Request, to path: String, reporting report: (@Sendable (DownloadProgress) -> Void)? = nil
  ) async throws -> Int {
    let source = PartialDownload.source(of: request.head)
    let file = try await NIOThreadPool.singleton.runIfActive { try PartialDownload(of: path, from: source) }
    // Attempts with progress are not limited. Progress means more bytes than ever before: otherwise content that changes each time would be
    // requested for ever.
    var (best, fruitless) = (0, 0)
    while true {
      let failure: BywayError
      do {
        if let size = try await file.continue(request, with: self, report) { return size }
        failure = BywayError(.incompleteResponse, "The origin sends only parts of the file.")
      } catch let error as BywayError where file.validator != nil && error.isOfTheWay {
        failure = error
      }
      fruitless = file.size > best ? 0 : fruitless + 1
      best = max(best, file.size)
      if fruitless > 3 { throw failure }
      try Task.checkCancellation()
    }
  }
}

extension BywayError {
  /// Whether the failure is one of the connection, so that content may still be available.
  var isOfTheWay: Bool {
    code == .linkLost || code == .originLost || code == .incompleteResponse || code == .linkUnavailable
  }
}

extension PartialDownload {
  /// Makes one attempt.
  /// - Returns: the number of bytes in the file; `nil` if more must be requested.
  fileprivate func `continue`(
    _ request: Request, with client: BywayClient, _ report: (@Sendable (BywayClient.DownloadProgress) -> Void)?
  ) async throws -> Int? {
    var request = request
    if let validator, size > 0 {
      request.head.headerFields[.range] = "bytes=\(size)-"
      request.head.headerFields[.ifRange] = validator
    }
    let response = try await client.execute(request)
    var end: Int?
    switch response.status.code {
    case 206:
      guard size > 0, let range = ContentRange(response), range.start == size else { throw Self.refusal(response) }
      // Another tag or length means other content, whatever the response's status (RFC 9110 §15.3.7.3).
      let fresh = Self.validator(of: response)
      guard fresh == nil || fresh == validator, isOfSameLength(range) else {
        return try await beginAgain(request, with: client, report)
      }
      end = range.end
    case 200:
      end = response.body.length
      try await restart(validator: Self.validator(of: response), total: end)
    case 416:
      // The content has no further bytes; whether the existing ones are correct is unknown.
      guard size > 0 else { throw Self.refusal(response) }
      return try await beginAgain(request, with: client, report)
    default: throw Self.refusal(response)
    }
    for try await chunk in response.body {
      if let end, chunk.readableBytes > end - size {
        throw BywayError(.protocolViolation, "The origin sends more than it has announced.")
      }
      try await append(chunk)
      report?(.init(received: size, total: total))
    }
    if let end, size < end {
      throw BywayError(.incompleteResponse, "The origin has sent less than it has announced.")
    }
    // The origin may send less than was requested (RFC 9110 §15.3.7).
    if let total, size < total { return nil }
    return try await complete()
  }

  private func beginAgain(
    _ request: Request, with client: BywayClient, _ report: (@Sendable (BywayClient.DownloadProgress) -> Void)?
  ) async throws -> Int? {
    try await restart(validator: nil, total: nil)
    return try await `continue`(request.withoutRange, with: client, report)
  }

  private static func refusal(_ response: Response) -> BywayError {
    BywayError(.refused, "The origin answered \(response.status.code), which is not a download.", processing: .possible)
  }
}

extension Request {
  fileprivate var withoutRange: Request {
    var request = self
    request.head.headerFields[.range] = nil
    request.head.headerFields[.ifRange] = nil
    return request
  }
}
