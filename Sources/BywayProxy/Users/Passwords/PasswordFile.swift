package import Byway
import BywayPrimitives

/// The users that may log in with a password, as `htpasswd` writes them: `NAME:HASH`, one user a line. A value.
package struct PasswordFile: Sendable {
  private let hashes: [UserName: PasswordHash]
  /// The hashes in the order of the file.
  private let all: [PasswordHash]

  /// - Parameter file: the name of the file, for messages.
  /// - Throws: ``BywayError`` with code `unreadableFile`, which names the line and never shows the text after the colon.
  package init(_ text: String, named file: String) throws(BywayError) {
    var hashes: [UserName: PasswordHash] = [:]
    var all: [PasswordHash] = []
    var lines: [UserName: Int] = [:]
    for line in try SettingLine.all(in: text, of: file) {
      let parts = line.text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else {
        throw line.flaw(in: file, "there is no colon: write NAME:HASH, as htpasswd -B does")
      }
      guard let user = UserName(parts[0]) else {
        throw line.flaw(in: file, "\"\(String(parts[0]).visible)\" cannot be a user: a name has \(UserName.rule)")
      }
      if let before = lines.updateValue(line.number, forKey: user) {
        throw line.flaw(in: file, "\(user) is on line \(before) already: leave one of them out")
      }
      let hash: PasswordHash
      do { hash = try PasswordHash(parts[1]) } catch {
        switch error {
        case .unusable(let reason): throw line.flaw(in: file, "\(user) \(reason) \(user)")
        }
      }
      hashes[user] = hash
      all.append(hash)
    }
    guard !all.isEmpty else {
      throw BywayError(
        .unreadableFile, "\(file) has no user in it: add one with htpasswd -B -C 10 \(file) NAME.", processing: .none)
    }
    self.hashes = hashes
    self.all = all
  }

  subscript(user: UserName) -> PasswordHash? { hashes[user] }

  /// Returns another user's hash, for a name that has none: checking it takes as long as checking an existing user.
  /// - Parameter number: chooses the hash; the same for the same name.
  func other(_ number: UInt) -> PasswordHash { all[Int(number % UInt(all.count))] }

  /// Returns the first user by name whose hash satisfies the condition.
  func user(where isSuch: (PasswordHash) -> Bool) -> UserName? {
    hashes.filter { isSuch($0.value) }.keys.min { $0.text < $1.text }
  }
}
