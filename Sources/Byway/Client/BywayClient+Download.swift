import HTTPTypes
import NIOCore
import NIOPosix

extension BywayClient {
  /// How far a download has come.
  public struct DownloadProgress: Sendable, Hashable {
    /// Bytes that are in the file, those of earlier attempts included.
    public var received: Int
    /// Bytes in all, where the origin says so.
    public var total: Int?
  }

  /// Downloads to a file, as it comes: memory does not grow with the file.
  ///
  /// What arrives is kept next to the file, in `PATH.part`, which becomes the file at the end. When the link is lost
  /// meanwhile, and when a download that failed or was cancelled is called for again, it goes on from where it was, if the
  /// origin can tell that the content is still the same (RFC 9110 §13.1.5); else it starts over.
  /// - Parameters:
  ///   - url: asked for by GET.
  ///   - path: replaced at the end, if it exists.
  ///   - report: called after each chunk, never concurrently.
  /// - Returns: bytes in the file.
  /// - Throws: ``BywayError``; code `refused` where the origin's answer is not a success.
  @discardableResult
  public func download(
    _ url: String, to path: String, reporting report: (@Sendable (DownloadProgress) -> Void)? = nil
  ) async throws -> Int {
    try await download(Request(url: url), to: path, reporting: report)
  }

  /// The same for a request with fields of its own; its method is GET.
  @discardableResult
  public func download(
    _ request: Request, to path: String, reporting report: (@Sendable (DownloadProgress) -> Void)? = nil
  ) async throws -> Int {
    let source = PartialDownload.source(of: request.head)
    let file = try await NIOThreadPool.singleton.runIfActive { try PartialDownload(of: path, from: source) }
    // What brings something may be tried as often as it takes: more than there was before, or content that changes each time
    // would have no end.
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
  /// The content was coming, and something between here and the origin broke.
  var isOfTheWay: Bool {
    code == .linkLost || code == .originLost || code == .incompleteResponse || code == .linkUnavailable
  }
}

extension PartialDownload {
  /// One attempt.
  /// - Returns: bytes in the file; `nil` where more are to be asked for.
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
      // What has another tag or length is another content, whatever the answer calls itself (RFC 9110 §15.3.7.3).
      let fresh = Self.validator(of: response)
      guard fresh == nil || fresh == validator, isOfSameLength(range) else {
        return try await beginAgain(request, with: client, report)
      }
      end = range.end
    case 200:
      end = response.body.length
      try await restart(validator: Self.validator(of: response), total: end)
    case 416:
      // Nothing lies behind what is there; whether it is the right thing is not known.
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
    // It may send less than is asked for (RFC 9110 §15.3.7).
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
