package import Byway
import HTTPWire

/// Who comes to a proxy, how that is known, and what they may use: all from files, read anew at each reload. A value.
package struct UserRules: Sendable {
  package var rights: Rights
  /// `nil`: nobody logs in with a password.
  package var passwords: PasswordFile?
  /// `nil`: no reverse proxy says who it is.
  package var header: UserHeader?
  /// Whose a certificate is, which comes in DER and has been verified; `nil`: it is nobody's.
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

  /// A login that is for this proxy, or by which a reverse proxy has known the user, is not the device's.
  func removeOwnLogins(of user: UserName?, from fields: inout FieldSection) {
    guard user != nil || passwords != nil else { return }
    BasicLogin.remove(from: &fields) { [passwords] in $0 == user || passwords?[$0] != nil }
  }

  /// Whether what somebody has begun may go on by these rules.
  func stillAllow(_ visitor: Visitor, _ resource: Resource?, since before: UserRules?) -> Bool {
    guard case .user(let name, let proof) = visitor else { return false }
    if proof == .password, passwords?[name] == nil || passwords?[name] != before?.passwords?[name] { return false }
    return resource.map { rights.allow(name, $0) } ?? true
  }
}
