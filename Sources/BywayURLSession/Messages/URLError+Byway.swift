import Byway
import Foundation
import FoundationNetworking

extension URLError {
  /// Any error as what users of `URLSession` expect, with the ``BywayError`` underneath.
  init(_ error: any Error, at url: URL?) {
    switch error {
    case let error as URLError: self = error
    // What a body of ours failed with, on its way through the link's client.
    case let error as BywayError where error.code == .handlerFailed && error.cause is URLError:
      self = error.cause as? URLError ?? URLError(.unknown)
    case is CancellationError: self.init(.cancelled, BywayError(error), at: url)
    default:
      let error = BywayError(error)
      self.init(Self.code(for: error.code), error, at: url)
    }
  }

  init(_ code: Code, _ error: BywayError, at url: URL?) {
    var information: [String: Any] = [NSLocalizedDescriptionKey: error.message, NSUnderlyingErrorKey: error]
    if let url {
      information[NSURLErrorFailingURLErrorKey] = url
    }
    self.init(code, userInfo: information)
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
    default: .unknown
    }
  }
}

extension BywayError {
  /// Foundation on Linux crashes, or answers nothing, where a protocol of others serves one.
  static let downloadTask = BywayError(
    .refused,
    "Download tasks do not work over a bridge on Linux: call BywayClient.download(_:to:), which reports progress and"
      + " resumes, or use a data task with a delegate.", processing: .none)
}
