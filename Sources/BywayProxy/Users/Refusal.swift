import Byway
import BywayHTTPWire
import BywayPrimitives
import NIOCore

/// The reason for refusing a request because of its user.
enum Refusal: Equatable {
  /// A login is missing, or wrong.
  case login(BasicLogin.Field, isWrong: Bool)
  /// Several wrong logins came before; the time is how long to wait.
  case paused(TimeAmount)
  /// Too many users log in at once.
  case busy
  /// The request does not identify a user.
  case nobody(String)
  /// The request can be read in two ways.
  case ambiguous(String)

  /// Answers a request.
  /// - Parameter request: the head of the request.
  func answer(_ request: FieldSection, hop: String, to sink: any ResponseSink) {
    let form = FailureResponse.Form(answering: request)
    let failure = FailureResponse(error, hop: hop, status: status, title: title, form: form)
    var head = failure.head
    if case .login(let field, _) = self {
      head.append(name: field.challenge, value: "Basic realm=\"Devices\", charset=\"UTF-8\"")
    }
    if let seconds = pause { head.append(name: "retry-after", value: "\(seconds)") }
    if !head.containsCacheControl { head.append(name: "cache-control", value: "no-store") }
    let isHead = request.withValue(of: .method) { $0.elementsEqual("HEAD".utf8) } ?? false
    let isComplete = isHead || failure.body.readableBytes == 0
    sink.head(head, isComplete: isComplete)
    guard !isComplete else { return }
    sink.write(failure.body)
    sink.finish(trailers: nil)
  }

  private var status: Int {
    switch self {
    case .login(let field, _): field.status
    case .paused: 429
    case .busy: 503
    case .nobody: 403
    case .ambiguous: 400
    }
  }

  private var title: String {
    switch self {
    case .login: "A login is needed"
    case .paused: "Too many wrong passwords"
    case .busy: "Too many logins at once"
    case .nobody: "The user is unknown"
    case .ambiguous: "The request can be read in two ways"
    }
  }

  private var pause: Int64? {
    switch self {
    case .paused(let time): max(1, (time.nanoseconds + 999_999_999) / 1_000_000_000)
    case .busy: 2
    case .login, .nobody, .ambiguous: nil
    }
  }

  private var error: BywayError {
    switch self {
    case .login(_, isWrong: false):
      BywayError(.forbidden, "Log in with a user name and a password.", processing: .none)
    case .login(_, isWrong: true):
      BywayError(.forbidden, "The user name or the password is wrong.", processing: .none)
    case .paused:
      BywayError(.refused, "Too many wrong passwords came for this user: wait \(pause ?? 1) s.", processing: .none)
    case .busy:
      BywayError(.refused, "Too many users log in at the moment: try again.", processing: .none)
    case .nobody(let words): BywayError(.forbidden, words, processing: .none)
    case .ambiguous(let words): BywayError(.invalidRequest, words, processing: .none)
    }
  }
}

extension Refusal {
  static func mayNot(_ user: UserName, _ resource: Resource, nearest: String?) -> BywayError {
    let hint = nearest.map { " Did you mean \"\($0)\"?" } ?? ""
    let what =
      switch resource {
      case .device(let name): "no device called \"\(name)\""
      case .main: "no default device"
      }
    // The answer does not reveal whether there is such a device.
    return BywayError(.forbidden, "The user \"\(user)\" has \(what).\(hint)", processing: .none)
  }

  static let loginRequired = BywayError(
    .forbidden, "This proxy now requires a login: connect again, and log in.", processing: .none)

  static let rightGone = BywayError(
    .forbidden, "The right to this device was withdrawn while it was used.", processing: .possible)
}

extension FieldSection {
  fileprivate var containsCacheControl: Bool {
    var isFound = false
    forEachLine { _, name, _ in isFound = isFound || name.elementsEqual("cache-control".utf8) }
    return isFound
  }
}
