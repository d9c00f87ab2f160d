import Byway
import Testing

@testable import BywayProxy

/// Password hashes by `htpasswd`, all of "secret".
@Suite("Password file") struct PasswordFileTests {
  static let bcrypt = "$2y$04$CukWxI5kfl3YM7m7ze/cBeVJnCwNSd951tql1FpmIRcq6B7RRrWBm"

  @Test(
    "a password is verified against each supported slow hash",
    arguments: [
      bcrypt, "$y$j75$saltsalt$0gBD67sgmJgRX3RZ6wHHO7sHimQEWGCWN85o4Twogh2",
      "$5$rounds=1000$saltsalt$eKLZU9t9OoPWrqOQsoTIKG0aYkZ5rGOoOQhiIvoSWX2",
      "$6$rounds=1000$saltsalt$LAV5VE5Y7w1d73x1mFNspYWUpazfmwv2SoepNXNKJ/otop/Zok96Hr8Q13LEv0DRY/x8v0/crpIjl8NJSAqXV/",
    ])
  func kinds(hash: String) throws {
    let file = try PasswordFile("# users\nalice:\(hash)\n", named: "users")
    let alice = try #require(UserName("alice"))
    let stored = try #require(file[alice])
    let library = try CryptLibrary()
    #expect(library.knows(stored))
    #expect(library.matches(Array("secret".utf8), stored))
    for wrong in [
      "Secret", "secret ", "", "secre", "secret\u{0}", "secret\u{0}x", hash, String(repeating: "s", count: 4096),
    ] {
      #expect(!library.matches(Array(wrong.utf8), stored), "\(wrong.debugDescription)")
    }
  }

  @Test("a malformed hash matches no password")
  func damaged() throws {
    let library = try CryptLibrary()
    let rest = Self.bcrypt.dropFirst(7)
    for text in [
      "$2y$99$\(rest)", "$2y$0x$\(rest)", "$2b$04$\(String(repeating: "*", count: 53))", "$y$", "$6$", "$5$*0",
    ] {
      let hash = try PasswordHash(text[...])
      for password in ["", "secret", "*0", "*1"] { #expect(!library.matches(Array(password.utf8), hash), "\(text)") }
    }
  }

  @Test(
    "a fast or unknown hash is refused with advice, and is not shown",
    arguments: [
      (
        "alice:secret", "a password in plain text, or a hash of an unknown kind: make one with: htpasswd -B -C 10 alice"
      ),
      ("alice:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/", "MD5"), ("alice:$1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/", "MD5"),
      ("alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", "SHA-1"), ("alice:abJnggxhB/yWI", "DES"),
      ("alice:$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA", "Argon2"), ("alice:$2a$05$x", "older bcrypt"),
      ("alice:", "an unknown kind"), ("alice", "users, line 1: there is no colon"),
      ("\n:\(bcrypt)", "line 2: \"\" cannot be a user"),
      ("a*b:\(bcrypt)", "cannot be a user"), ("al\u{1B}[2Jice:\(bcrypt)", "\"al?[2Jice\" cannot be a user"),
      ("alice:\(bcrypt)\nbob:\(bcrypt)\nalice:\(bcrypt)", "line 3: alice is on line 1 already"),
      ("alice:$y$\u{7}", "damaged"), ("alice:$2y$04$x", "damaged"), ("alice:\(bcrypt):more", "damaged"),
      ("# nobody\n", "has no user in it"),
    ])
  func refused(text: String, words: String) {
    #expect {
      _ = try PasswordFile(text, named: "users")
    } throws: { error in
      let message = (error as? BywayError)?.message ?? ""
      let secret = text.split(separator: ":").dropFirst().first.map(String.init) ?? "nothing"
      return message.contains(words) && !message.contains(secret)
    }
  }
}
