import Byway
import Foundation
import FoundationNetworking

extension URLError {
  /// Any error as what users of `URLSession` expect, with the `BywayError` underneath.
  init(_ error: any Error, at url: URL?) {
    switch error {
    case let error as URLError: self = error.naming(url)
    // What a body of ours failed with, on its way through the link's client.
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

  /// With the URL, where it names none.
  private func naming(_ url: URL?) -> URLError {
    guard let url, failingURL == nil else { return self }
    return URLError(code, userInfo: userInfo.merging(Self.place(url)) { $1 })
  }

  private static func place(_ url: URL) -> [String: Any] {
    // The second is what NSURLErrorFailingURLStringErrorKey stands for, which is deprecated and asked for all the same.
    [NSURLErrorFailingURLErrorKey: url, "NSErrorFailingURLStringKey": url.absoluteString]
  }

  /// The text that Foundation's own protocols give such an error; `nil` where it has none of its own. Foundation then makes
  /// `localizedDescription` of the failure reason.
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

  /// Foundation crashes, or delivers nothing, if it finds no file where it looks for one.
  static let downloadTask = BywayError(
    .refused,
    "Download tasks do not work over a bridge with this version of Foundation: call BywayClient.download(_:to:), which"
      + " reports progress and resumes, or use a data task with a delegate.", processing: .none)
}
