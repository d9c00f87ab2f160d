import BywayPrimitives

/// The error type of this package: says what went wrong, and what to do next.
public struct BywayError: Error, Sendable {
  /// The kind of failure. Switch on it; the message is for users.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String {
      case invalidAddress, unknownScheme, unknownOption, invalidRequest
      case linkUnavailable, linkLost, protocolViolation
      case originUnavailable, originUntrusted, originLost, incompleteResponse, timedOut
      case forbidden, misdirected, unsupported, refused, tooLarge, cancelled, loopDetected, handlerFailed
      case pluginFailed, dropped
      case unreadableFile, uncreatableFile, unwritableFile
    }
    private let kind: Kind
    public var description: String { kind.rawValue }

    /// A mistake of the caller: an invalid link address.
    public static let invalidAddress = Code(kind: .invalidAddress)
    /// A mistake of the caller: a link address whose scheme has no transport.
    public static let unknownScheme = Code(kind: .unknownScheme)
    /// A mistake of the caller: a link address with an option that its transport does not have.
    public static let unknownOption = Code(kind: .unknownOption)
    /// A mistake of the caller: a request that cannot be sent.
    public static let invalidRequest = Code(kind: .invalidRequest)

    /// The link could not be opened; nothing was sent.
    public static let linkUnavailable = Code(kind: .linkUnavailable)
    /// The link ended while an exchange was under way.
    public static let linkLost = Code(kind: .linkLost)
    /// The peer broke HTTP, or does not speak it.
    public static let protocolViolation = Code(kind: .protocolViolation)

    /// The origin could not be reached.
    public static let originUnavailable = Code(kind: .originUnavailable)
    /// The origin's certificate was not accepted, or TLS could not be negotiated.
    public static let originUntrusted = Code(kind: .originUntrusted)
    /// The origin ended the connection before it answered.
    public static let originLost = Code(kind: .originLost)
    /// The response ended before its declared end.
    public static let incompleteResponse = Code(kind: .incompleteResponse)
    /// A deadline passed.
    public static let timedOut = Code(kind: .timedOut)

    /// The gateway's rules do not allow this target.
    public static let forbidden = Code(kind: .forbidden)
    /// The request is for a host that this proxy does not serve.
    public static let misdirected = Code(kind: .misdirected)
    /// The request asks for a protocol that is not supported here.
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
    /// A plugin, an interceptor outside of this process, gave no answer.
    public static let pluginFailed = Code(kind: .pluginFailed)
    /// An interceptor has dropped the exchange: its client gets no answer, but a closed connection, or a reset stream.
    public static let dropped = Code(kind: .dropped)

    /// A file on this machine cannot be read, or has invalid content.
    public static let unreadableFile = Code(kind: .unreadableFile)
    /// A file or folder on this machine cannot be created or used.
    public static let uncreatableFile = Code(kind: .uncreatableFile)
    /// A file on this machine cannot be written completely: for example, the disk is full.
    public static let unwritableFile = Code(kind: .unwritableFile)
  }

  /// Whether the request may have been processed, which decides whether it may be sent again (RFC 9110 §9.2.2).
  public enum Processing: Sendable, Hashable {
    /// No part of it was processed: any method may be sent again.
    case none
    /// It may have been processed: only an idempotent request may be sent again.
    case possible
  }

  /// The kind of failure.
  public var code: Code
  /// The message, one or two sentences: what happened, and what to try.
  public var message: String
  /// Whether the request may have been processed.
  public var processing: Processing
  /// The underlying error, if any.
  public var cause: (any Error)?
  /// The setting to change, which the message names too; `nil` if none helps.
  package var advice: Advice?
  /// The fault of a link, as a step of opening it has found it; `nil` for other failures.
  package var diagnosis: Diagnosis? {
    get { kept?.diagnosis }
    set { kept = newValue.map(KeptDiagnosis.init) }
  }
  /// Whether waiting does not help: a program that does not exist, or that may not be executed, or a login that was refused.
  package var isLasting: Bool {
    switch diagnosis?.fault {
    case .noProgram, .notExecutable: true
    default: (evidence as? any LinkEvidence)?.isLasting ?? false
    }
  }
  /// A reference, so that errors stay small.
  private var kept: KeptDiagnosis?
  /// Further facts for the diagnosis of a link: ``UnexpectedPeer``, ``ProgramEnd`` and the like.
  package var evidence: (any Sendable)?

  /// Creates an error, for example in an interceptor or a transport.
  /// - Parameters:
  ///   - code: the kind of failure.
  ///   - message: one or two sentences: what happened, and what to try. It must not contain a secret.
  ///   - processing: ``Processing/none`` only if the request has certainly not been processed.
  ///   - cause: the underlying error.
  public init(_ code: Code, _ message: String, processing: Processing = .possible, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.processing = processing
    self.cause = cause
  }

  /// Creates the error for a fault of a link. Its message is the sentence of the diagnosis.
  package init(_ code: Code, _ diagnosis: Diagnosis, cause: (any Error)? = nil) {
    self.init(code, diagnosis.sentence, processing: .none, cause: cause)
    self.diagnosis = diagnosis
  }

  /// Creates an error with advice.
  /// - Parameter message: makes the message, which contains the text of the advice.
  package init(
    _ code: Code, advice: Advice, processing: Processing = .possible, cause: (any Error)? = nil,
    _ message: (Advice) -> String
  ) {
    self.init(code, message(advice), processing: processing, cause: cause)
    self.advice = advice
  }
}

extension BywayError {
  /// Converts any error to this type; one that already has it is unchanged.
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
    // The message may quote text from outside.
    (cause.map { "\(message) (\(code): \(CauseText.of($0)))" } ?? "\(message) (\(code))").visible
  }
}

private final class KeptDiagnosis: Sendable {
  let diagnosis: Diagnosis

  init(_ diagnosis: Diagnosis) {
    self.diagnosis = diagnosis
  }
}
