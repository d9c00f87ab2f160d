import Byway
import Dispatch
import Foundation
import FoundationNetworking

/// The internals of a task that a protocol needs and Foundation on Linux does not expose. They are read by reflection, only
/// here.
///
/// Everything is optional except for the parts that are indispensable. ``check()`` verifies at the start that those exist.
struct TaskInternals {
  /// The queue for all calls to the client. On any other, they would race with an unlocked dictionary of the session.
  let workQueue: DispatchQueue
  let session: URLSession
  let body: UploadedBody
  /// Whether the completion handler resumes a continuation on the thread of the terminal call.
  let completesInline: Bool
  let audience: Audience

  /// The receiver of the task's events.
  enum Audience {
    /// The session's delegate, as events occur.
    case sessionDelegate
    /// A function, for the complete result. Questions go to the delegate that was given with it.
    case completionHandler((any URLSessionTaskDelegate)?)
    /// None: the session has no delegate.
    case nobody
  }

  /// Reads the internals, on the task's work queue.
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

  /// - Returns: the slot for a download task's file; `nil`: download tasks are refused.
  /// - Throws: `BywayError` if Foundation's tasks do not have the expected parts.
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
      // Collects the body. For a delegate this is late, but it is correct in both cases.
      return .completionHandler(nil)
    }
    guard let handler = Mirror(reflecting: behaviour).children.first else {
      return session.delegate is any URLSessionTaskDelegate ? .sessionDelegate : .nobody
    }
    let parts = Mirror(reflecting: handler.value).children
    return .completionHandler(parts.lazy.compactMap { $0.value as? any URLSessionTaskDelegate }.first)
  }
}

/// The stored properties of an object and its superclasses. Only requested ones are read.
struct Reflection {
  private let mirrors: [Mirror]

  init(_ object: Any) {
    mirrors = Array(sequence(first: Mirror(reflecting: object)) { $0.superclassMirror })
  }

  func contains(_ name: String) -> Bool {
    mirrors.contains { $0.children.contains { $0.label == name } }
  }

  /// The value of a property; `nil` also if the property exists and is `nil`.
  subscript(name: String) -> Any? {
    for mirror in mirrors {
      guard let child = mirror.children.first(where: { $0.label == name }) else { continue }
      let value = Mirror(reflecting: child.value)
      return value.displayStyle == .optional ? value.children.first?.value : child.value
    }
    return nil
  }
}

/// A dictionary whose value type has no name.
private protocol KeyedByNumber {
  func value(for key: Int) -> Any?
}

extension Dictionary: KeyedByNumber where Key == Int {
  fileprivate func value(for key: Int) -> Any? { self[key] }
}
