import Byway
import BywayHTTPWire
import NIOCore

/// The authenticator of requests, by the rules in force. Lives on the proxy's event loop.
final class UserAuthenticator {
  enum Identity {
    case known(RequestUser)
    /// A login that has to be checked.
    case claimed(BasicLogin, BasicLogin.Field)
    case unknown(Refusal)
  }

  let rules: UserRules
  private let logins: PasswordLogins?

  init(_ rules: UserRules, _ checker: PasswordChecker, on eventLoop: any EventLoop) {
    self.rules = rules
    logins = rules.passwords.map { PasswordLogins($0, checker, on: eventLoop) }
  }

  /// Identifies the user of a request, and removes the fields that are for this proxy alone.
  /// - Parameter isForProxy: whether the request is in absolute form, or CONNECT.
  func identify(_ fields: inout FieldSection, isForProxy: Bool, at context: ConnectionContext) -> Identity {
    if let header = rules.header, !context.isGuarded {
      switch header.take(from: &fields) {
      case .missing: break
      case .user(let user):
        fields.remove(.proxyAuthorization)
        rules.removeOwnLogins(of: user, from: &fields)
        return .known(.user(user, by: .header))
      case .several: return .unknown(.ambiguous("More than one field \(header.name) names a user."))
      case .notAName:
        return .unknown(.nobody("The value of \(header.name) is not a user name: a name has \(UserName.rule)."))
      }
    }
    rules.header?.remove(from: &fields)
    let certified = context.certifiedUser(by: rules)
    if case .some(.some(let user)) = certified {
      fields.remove(.proxyAuthorization)
      rules.removeOwnLogins(of: user, from: &fields)
      return .known(.user(user, by: .certificate))
    }
    if rules.passwords != nil { return claim(&fields, isForProxy ? .proxyAuthorization : .authorization, context) }
    if let header = rules.header, !context.isGuarded {
      return .unknown(.nobody("The reverse proxy has not named the user of this request: it must set \(header.name)."))
    }
    return .unknown(
      .nobody(
        certified == nil
          ? "The client has sent no certificate: use one that names a user."
          : "The certificate does not name a user: it must have one e-mail name or one common name, and no DNS names."))
  }

  private func claim(_ fields: inout FieldSection, _ field: BasicLogin.Field, _ context: ConnectionContext) -> Identity
  {
    guard context.keepsPasswords else {
      return .unknown(.nobody("Passwords are not accepted over a connection that others can read: use https."))
    }
    let reading = BasicLogin.take(field, from: &fields)
    fields.remove(.proxyAuthorization)
    // Clients may use one login for the proxy and for everything behind it.
    if field == .proxyAuthorization { rules.removeOwnLogins(of: nil, from: &fields) }
    switch reading {
    case .missing: return .unknown(.login(field, isWrong: false))
    case .other: return .unknown(.login(field, isWrong: true))
    case .several: return .unknown(.ambiguous("The request has more than one login."))
    case .login(let login): return .claimed(login, field)
    }
  }

  /// Checks a login.
  /// - Returns: the result if it is known at once; `nil` if `then` is called later, within seconds.
  func check(
    _ login: BasicLogin, _ field: BasicLogin.Field, from peer: String?, then: @escaping (Identity) -> Void
  ) -> Identity? {
    let outcome = logins?.ask(login, from: peer) { then(Self.identity($0, field)) }
    return outcome.map { Self.identity($0, field) }
  }

  private static func identity(_ outcome: PasswordLogins.Outcome, _ field: BasicLogin.Field) -> Identity {
    switch outcome {
    case .welcome(let user): .known(.user(user, by: .password))
    case .wrong: .unknown(.login(field, isWrong: true))
    case .paused(let time): .unknown(.paused(time))
    case .busy: .unknown(.busy)
    }
  }
}
