import Primitives

/// The one error type of this package: what went wrong, said so that the reader knows what to do next.
public struct BywayError: Error, Sendable {
  /// What kind of failure this is. Switch on it; the message is for people.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String {
      case invalidAddress, unknownScheme, unknownOption, invalidRequest
      case linkUnavailable, linkLost, protocolViolation
      case originUnavailable, originUntrusted, originLost, incompleteResponse, timedOut
      case forbidden, misdirected, unsupported, refused, tooLarge, cancelled, loopDetected, handlerFailed
      case unreadableFile, uncreatableFile, unwritableFile
    }
    private let kind: Kind
    public var description: String { kind.rawValue }

    /// The caller's mistake: a link address that cannot be read.
    public static let invalidAddress = Code(kind: .invalidAddress)
    /// The caller's mistake: a link address whose scheme no transport has.
    public static let unknownScheme = Code(kind: .unknownScheme)
    /// The caller's mistake: a link address with an option that its transport does not have.
    public static let unknownOption = Code(kind: .unknownOption)
    /// The caller's mistake: a request that cannot be sent.
    public static let invalidRequest = Code(kind: .invalidRequest)

    /// The link could not be opened; nothing was sent.
    public static let linkUnavailable = Code(kind: .linkUnavailable)
    /// The link ended while an exchange was under way.
    public static let linkLost = Code(kind: .linkLost)
    /// The peer broke HTTP, or does not speak it.
    public static let protocolViolation = Code(kind: .protocolViolation)

    /// The origin could not be reached.
    public static let originUnavailable = Code(kind: .originUnavailable)
    /// The origin's certificate was not accepted, or no TLS could be agreed on.
    public static let originUntrusted = Code(kind: .originUntrusted)
    /// The origin ended the connection before it answered.
    public static let originLost = Code(kind: .originLost)
    /// The response ended before its declared end.
    public static let incompleteResponse = Code(kind: .incompleteResponse)
    /// A deadline passed.
    public static let timedOut = Code(kind: .timedOut)

    /// The gateway's rules do not allow this target.
    public static let forbidden = Code(kind: .forbidden)
    /// The request names a host that this proxy does not answer for.
    public static let misdirected = Code(kind: .misdirected)
    /// The request asks for a protocol that is not spoken here.
    public static let unsupported = Code(kind: .unsupported)
    /// The peer refused the request before any work was done on it.
    public static let refused = Code(kind: .refused)
    /// A message exceeded a limit.
    public static let tooLarge = Code(kind: .tooLarge)
    /// The request was cancelled by its caller.
    public static let cancelled = Code(kind: .cancelled)
    /// The request came back to a hop that it had already passed (RFC 9110 §7.6.3).
    public static let loopDetected = Code(kind: .loopDetected)
    /// An interceptor or a handler threw an error of its own.
    public static let handlerFailed = Code(kind: .handlerFailed)

    /// A file on this machine cannot be read, or is not what it should be.
    public static let unreadableFile = Code(kind: .unreadableFile)
    /// A file or folder on this machine cannot be made or used.
    public static let uncreatableFile = Code(kind: .uncreatableFile)
    /// A file on this machine cannot be written to its end: the disk is full.
    public static let unwritableFile = Code(kind: .unwritableFile)
  }

  /// What is known about the fate of the request, which decides whether it may be sent again (RFC 9110 §9.2.2).
  public enum Processing: Sendable, Hashable {
    /// No part of it was acted on: any method may be sent again.
    case none
    /// It may have been acted on: only an idempotent request may be sent again.
    case possible
  }

  /// What kind of failure this is.
  public var code: Code
  /// One or two sentences: what happened, and what to try.
  public var message: String
  /// What is known about the fate of the request.
  public var processing: Processing
  /// The error underneath, where there is one.
  public var cause: (any Error)?
  /// What whoever threw it knows beyond its words, for whoever examines a link: ``Stranger``, ``ProgramEnd`` and the like.
  package var evidence: (any Sendable)?

  /// An error of one's own, from an interceptor or a transport.
  /// - Parameters:
  ///   - code: what kind of failure this is.
  ///   - message: one or two sentences: what happened, and what to try. It must not contain a secret.
  ///   - processing: ``Processing/none`` only where it is certain that nobody acted on the request.
  ///   - cause: the error underneath.
  public init(_ code: Code, _ message: String, processing: Processing = .possible, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.processing = processing
    self.cause = cause
  }
}

extension BywayError {
  /// Any error as this type; one that is it already stays as it is.
  public init(_ error: any Error) {
    switch error {
    case let error as BywayError: self = error
    case is CancellationError: self.init(.cancelled, "The request was cancelled by its caller.", cause: error)
    default: self.init(.handlerFailed, "A handler failed.", cause: error)
    }
  }
}

extension BywayError: CustomStringConvertible {
  public var description: String {
    // The message may quote what came from outside.
    (cause.map { "\(message) (\(code): \(CauseText.of($0)))" } ?? "\(message) (\(code))").visible
  }
}
