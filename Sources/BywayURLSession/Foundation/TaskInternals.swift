import Byway
import Dispatch
import Foundation
import FoundationNetworking

/// What a protocol has to know of its task and Foundation on Linux shows nobody: read by reflection, in one place.
///
/// Everything is optional but what nothing works without; ``check()`` says at the start whether that is there.
struct TaskInternals {
  /// Where all calls to the client must be made: elsewhere they race with an unlocked dictionary of the session's.
  let workQueue: DispatchQueue
  let session: URLSession
  let body: UploadedBody
  /// The completion handler resumes a continuation, on the thread that makes the terminal call.
  let completesInline: Bool
  let audience: Audience

  /// Who hears of the task.
  enum Audience {
    /// The session's delegate, as it happens.
    case sessionDelegate
    /// A function, of the whole; questions go to the delegate that came with it.
    case completionHandler((any URLSessionTaskDelegate)?)
    /// A session without a delegate: nobody.
    case nobody
  }

  /// On the task's work queue.
  init?(_ task: URLSessionTask) {
    let parts = Reflection(task)
    guard let workQueue = parts["workQueue"] as? DispatchQueue, let session = parts["session"] as? URLSession else {
      return nil
    }
    self.workQueue = workQueue
    self.session = session
    body = UploadedBody(parts["knownBody"])
    completesInline = parts["_callCompletionHandlerInline"] as? Bool ?? false
    audience = Self.audience(of: task, in: session)
  }

  /// - Returns: the place for a download task's file; `nil`: download tasks are refused.
  /// - Throws: `BywayError` where Foundation's tasks are not made of the expected parts.
  static func check() throws -> TemporaryFileSlot? {
    let parts = Reflection(URLSessionDataTask())
    let expected = ["workQueue", "session", "knownBody", "_callCompletionHandlerInline"]
    guard let missing = expected.first(where: { !parts.contains($0) }) else { return .ofFoundation }
    throw BywayError(
      .refused,
      "This version of Foundation has no URLSessionTask.\(missing), which the URLSession bridge cannot do without: use"
        + " BywayClient, or build with Swift 6.3.", processing: .none)
  }

  private static func audience(of task: URLSessionTask, in session: URLSession) -> Audience {
    let registry = Reflection(session)["taskRegistry"].map { Reflection($0) }
    guard let behaviours = registry?["behaviours"] as? any KeyedByNumber,
      let behaviour = behaviours.value(for: task.taskIdentifier)
    else {
      // Collected for everybody: late for a delegate, but right for both.
      return .completionHandler(nil)
    }
    guard let handler = Mirror(reflecting: behaviour).children.first else {
      return session.delegate is any URLSessionTaskDelegate ? .sessionDelegate : .nobody
    }
    let parts = Mirror(reflecting: handler.value).children
    return .completionHandler(parts.lazy.compactMap { $0.value as? any URLSessionTaskDelegate }.first)
  }
}

/// The stored properties of an object, those of its superclasses included. Reads only what is asked for.
struct Reflection {
  private let mirrors: [Mirror]

  init(_ object: Any) {
    mirrors = Array(sequence(first: Mirror(reflecting: object)) { $0.superclassMirror })
  }

  func contains(_ name: String) -> Bool {
    mirrors.contains { $0.children.contains { $0.label == name } }
  }

  /// `nil` too where it is there and is `nil`.
  subscript(name: String) -> Any? {
    for mirror in mirrors {
      guard let child = mirror.children.first(where: { $0.label == name }) else { continue }
      let value = Mirror(reflecting: child.value)
      return value.displayStyle == .optional ? value.children.first?.value : child.value
    }
    return nil
  }
}

/// A dictionary whose values have a type that cannot be named.
private protocol KeyedByNumber {
  func value(for key: Int) -> Any?
}

extension Dictionary: KeyedByNumber where Key == Int {
  fileprivate func value(for key: Int) -> Any? { self[key] }
}
