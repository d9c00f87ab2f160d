import Byway
import Foundation
import FoundationNetworking

extension URLError {
  /// Converts any error to the one that users of `URLSession` expect, with the `BywayError` as the underlying error.
  init(_ error: any Error, at url: URL?) {
    switch error {
    case let error as URLError: self = error.naming(url)
    // The error of a body of ours, reported by the link's client.
    case let error as BywayError where error.code == .handlerFailed && error.cause is URLError:
      self = (error.cause as? URLError ?? URLError(.unknown)).naming(url)
    case is CancellationError: self.init(.cancelled, BywayError(error), at: url)
    default:
      let error = BywayError(error)
      self.init(Self.code(for: error.code), error, at: url)
    }
  }

  init(_ code: Code, _ error: BywayError, at url: URL?) {
    var information: [String: Any] = [
      NSLocalizedFailureReasonErrorKey: error.message, NSUnderlyingErrorKey: error,
    ]
    information[NSLocalizedDescriptionKey] = Self.words(for: code)
    if let url { information.merge(Self.place(url)) { $1 } }
    self.init(code, userInfo: information)
  }

  /// The same error with the URL, if it has none.
  private func naming(_ url: URL?) -> URLError {
    guard let url, failingURL == nil else { return self }
    return URLError(code, userInfo: userInfo.merging(Self.place(url)) { $1 })
  }

  private static func place(_ url: URL) -> [String: Any] {
    // The second key is the value of NSURLErrorFailingURLStringErrorKey, which is deprecated but still used.
    [NSURLErrorFailingURLErrorKey: url, "NSErrorFailingURLStringKey": url.absoluteString]
  }

  /// The text that Foundation's own protocols use for such an error; `nil` if they have none. Foundation then uses the failure
  /// reason as `localizedDescription`.
  private static func words(for code: Code) -> String? {
    switch code {
    case .cancelled: "cancelled"
    case .dataLengthExceedsMaximum: "resource exceeds maximum size"
    case .httpTooManyRedirects: "too many HTTP redirects"
    default: nil
    }
  }

  private static func code(for code: BywayError.Code) -> Code {
    switch code {
    case .invalidAddress, .unknownScheme, .unknownOption, .invalidRequest: .badURL
    case .linkUnavailable, .originUnavailable, .refused: .cannotConnectToHost
    case .linkLost, .originLost, .incompleteResponse: .networkConnectionLost
    case .protocolViolation, .loopDetected: .badServerResponse
    case .originUntrusted: .serverCertificateUntrusted
    case .timedOut: .timedOut
    case .forbidden, .misdirected: .resourceUnavailable
    case .tooLarge: .dataLengthExceedsMaximum
    case .cancelled: .cancelled
    case .unreadableFile: .cannotOpenFile
    case .uncreatableFile: .cannotCreateFile
    case .unwritableFile: .cannotWriteToFile
    default: .unknown
    }
  }
}

extension BywayError {
  static let bodyOfGET = BywayError(
    .invalidRequest,
    "URLSession sends no GET with a body: use POST, or BywayClient, which sends any request.", processing: .none)

  /// Foundation crashes, or delivers nothing, if it does not find the file.
  static let downloadTask = BywayError(
    .refused,
    "Download tasks do not work over a bridge with this version of Foundation: call BywayClient.download(_:to:), which"
      + " reports progress and resumes, or use a data task with a delegate.", processing: .none)
}
