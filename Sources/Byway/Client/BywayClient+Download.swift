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
    // What brings something may be tried as often as it takes.
    var fruitless = 0
    while true {
      let before = file.size
      do {
        return try await file.continue(request, with: self, report)
      } catch let error as BywayError where file.validator != nil && fruitless < 3 && error.isOfTheWay {
        fruitless = file.size > before ? 0 : fruitless + 1
        try Task.checkCancellation()
      }
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
  fileprivate func `continue`(
    _ request: Request, with client: BywayClient, _ report: (@Sendable (BywayClient.DownloadProgress) -> Void)?
  ) async throws -> Int {
    var request = request
    if let validator, size > 0 {
      request.head.headerFields[.range] = "bytes=\(size)-"
      request.head.headerFields[.ifRange] = validator
    }
    let response = try await client.execute(request)
    switch response.status.code {
    case 206 where Self.start(of: response) == size && size > 0:
      // What has another tag is another content, whatever the answer calls itself (RFC 9110 §15.3.7.3).
      if let fresh = Self.validator(of: response), fresh != validator {
        return try await beginAgain(request, with: client, report)
      }
    case 200: try await restart(validator: Self.validator(of: response))
    case 416:
      // Nothing lies behind what is there; whether it is the right thing is not known.
      guard size > 0 else { throw Self.refusal(response) }
      return try await beginAgain(request, with: client, report)
    default: throw Self.refusal(response)
    }
    let total = response.body.length.flatMap { length in
      let (sum, isTooLarge) = length.addingReportingOverflow(size)
      return isTooLarge ? nil : sum
    }
    for try await chunk in response.body {
      try await append(chunk)
      report?(.init(received: size, total: total))
    }
    return try await complete()
  }

  private func beginAgain(
    _ request: Request, with client: BywayClient, _ report: (@Sendable (BywayClient.DownloadProgress) -> Void)?
  ) async throws -> Int {
    try await restart(validator: nil)
    return try await `continue`(request.withoutRange, with: client, report)
  }

  /// Where a 206 begins: `Content-Range: bytes 500-999/1000` (RFC 9110 §14.4).
  private static func start(of response: Response) -> Int? {
    guard let range = response.fields[.contentRange], range.hasPrefix("bytes ") else { return nil }
    return Int(range.dropFirst("bytes ".count).prefix { $0 != "-" })
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
