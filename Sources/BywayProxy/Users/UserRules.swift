package import Byway
import BywayHTTPWire

/// The users of a proxy, how they are identified, and their rights: all from files, which each reload reads again. A value.
package struct UserRules: Sendable {
  package var rights: Rights
  /// `nil`: there are no logins with passwords.
  package var passwords: PasswordFile?
  /// `nil`: no reverse proxy names users.
  package var header: UserHeader?
  /// Returns the user of a verified certificate in DER; `nil`: it does not name a user.
  package var certified: @Sendable ([UInt8]) -> UserName?

  package init(
    _ rights: Rights, passwords: PasswordFile? = nil, header: UserHeader? = nil,
    certified: @escaping @Sendable ([UInt8]) -> UserName? = { _ in nil }
  ) {
    self.rights = rights
    self.passwords = passwords
    self.header = header
    self.certified = certified
  }

  /// Removes logins that are not for the device: those for this proxy, and the one by which a reverse proxy identified the user.
  func removeOwnLogins(of user: UserName?, from fields: inout FieldSection) {
    guard user != nil || passwords != nil else { return }
    BasicLogin.remove(from: &fields) { [passwords] in $0 == user || passwords?[$0] != nil }
  }

  /// Whether a running exchange of a user may continue under these rules.
  func stillAllow(_ user: RequestUser, _ resource: Resource?, since before: UserRules?) -> Bool {
    guard case .user(let name, let proof) = user else { return false }
    if proof == .password, passwords?[name] == nil || passwords?[name] != before?.passwords?[name] { return false }
    return resource.map { rights.allow(name, $0) } ?? true
  }
}
