import Byway
import Testing

@testable import BywayInterceptors

@Suite struct LoginFileTests {
  private func logins(_ text: String) throws -> LoginFile {
    try LoginFile(parsing: text, path: "logins")
  }

  @Test("the first matching machine entry of a netrc file counts, and default matches every host")
  func entries() throws {
    let file = try logins(
      """
      # at home
      machine Device login admin password one account ignored
      machine other
        password "two words \\"and\\" # more"
        login "some one"
      macdef init
        cd /tmp
        password no

      machine asks login somebody
      machine device login later password three
      default login anybody password four
      """)
    #expect(file.credentials(for: "device") == .init(user: "admin", password: "one"))
    #expect(file.credentials(for: "other") == .init(user: "some one", password: "two words \"and\" # more"))
    #expect(file.credentials(for: "asks") == .init(user: "anybody", password: "four"))
    #expect(try logins("machine a login b password c").credentials(for: "z") == nil)
    #expect(try logins("").credentials(for: "a") == nil)
  }

  @Test(
    "an invalid entry is reported by its line number, without its content",
    arguments: ["machine a login b\nSesame", "\nlogin Sesame", "machine a password Sesame x y", "\nmachine"])
  func mistakes(_ text: String) {
    let error = #expect(throws: BywayError.self) { try logins(text) }
    #expect(error?.message.contains(text.contains("\n") ? "line 2" : "line 1") == true)
    #expect(error?.message.contains("Sesame") == false)
  }
}
