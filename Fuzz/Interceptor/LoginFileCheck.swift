import Byway
import BywayHTTPWire
import BywayInterceptors
public import FuzzSupport

/// The properties of any file of logins, and of any login that is written into one.
public enum LoginFileCheck {
  public static func check(_ input: [UInt8]) throws(Violation) {
    var script = Script(input.dropFirst())
    if let kind = input.first, kind & 1 == 0 {
      try read(String(decoding: script.all(), as: UTF8.self))
    } else {
      try roundTrip(&script)
    }
  }

  private static func read(_ text: String) throws(Violation) {
    do {
      let file = try LoginFile(parsing: text, path: "FILE")
      guard let found = file.credentials(for: "device.example") else { return }
      // A login consists only of text from the file.
      let isThere = found.password.unicodeScalars.allSatisfy { text.unicodeScalars.contains($0) }
      try expect(isThere, "a password out of nowhere")
    } catch let violation as Violation {
      throw violation
    } catch {
      let message = BywayError(error).message
      let line = message.split(separator: "line ").dropFirst().first.flatMap { Int($0.prefix { $0.isNumber }) }
      let lines = text.count { $0.isNewline } + 1
      try expect(line.map { (1...lines).contains($0) } == true, "there is no such line: \(message)")
    }
  }

  private static func roundTrip(_ script: inout Script) throws(Violation) {
    var text = ""
    var logins: [(host: String, user: String, password: String)] = []
    for _ in 0..<3 {
      let words = (0..<3).map { _ in String(decoding: script.bytes(), as: UTF8.self) }
      logins.append((words[0], words[1], words[2]))
      text += "machine \(quoted(words[0])) login \(quoted(words[1]))\npassword \(quoted(words[2]))\n"
    }
    let file: LoginFile
    do {
      file = try LoginFile(parsing: text, path: "FILE")
    } catch {
      throw Violation("cannot be read: \(BywayError(error).message) \(text)")
    }
    for login in logins {
      let host = spelled(login.host)
      let first = logins.first { spelled($0.host) == host }
      let found = file.credentials(for: host)
      let isSame =
        found.map { $0.user.utf8.elementsEqual(first?.user.utf8 ?? "".utf8) } == true
        && found.map { $0.password.utf8.elementsEqual(first?.password.utf8 ?? "".utf8) } == true
      try expect(isSame, "\(login) is read as \(found?.user ?? "nobody"), \(found?.password ?? "nothing") from \(text)")
    }
  }

  /// Returns a host in the form that requests use. A text that is not a host is returned unchanged.
  private static func spelled(_ host: String) -> String {
    (try? Host(host))?.bracketed ?? host
  }

  private static func quoted(_ word: String) -> String {
    "\"" + word.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
  }
}
