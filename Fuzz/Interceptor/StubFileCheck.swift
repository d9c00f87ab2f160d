import Byway
import BywayInterceptors
public import FuzzSupport
import HTTPTypes

/// The properties of any file of stubs.
public enum StubFileCheck {
  public static func check(_ input: [UInt8]) throws(Violation) {
    let text = String(decoding: input, as: UTF8.self)
    let rules = try read(text)
    if !input.contains(0x0D) {
      let other = try read(String(decoding: input.flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }, as: UTF8.self))
      let isSame = rules?.map(\.path) == other?.map(\.path) && rules?.map(\.host) == other?.map(\.host)
      try expect(isSame, "the ends of lines count: \(String(describing: rules)), \(String(describing: other))")
    }
    for rule in rules ?? [] {
      var request = HTTPRequest(method: .get, scheme: "http", authority: rule.host ?? "device", path: rule.path)
      if let method = rule.method.flatMap({ HTTPRequest.Method($0) }) { request.method = method }
      try expect(rule.fits(request), "\(rule) does not fit what it names")
      request.authority = "other.example"
      try expect(rule.fits(request) == (rule.host == nil || rule.host == "other.example"), "\(rule) and another host")
    }
  }

  private static func read(_ text: String) throws(Violation) -> [StubRule]? {
    do {
      let rules = try StubFileParser(text, path: "FILE", folder: "/nowhere").rules()
      try expect(rules.count <= text.utf8.count / 3, "\(rules.count) rules of \(text.utf8.count) bytes")
      return rules
    } catch let violation as Violation {
      throw violation
    } catch {
      let message = BywayError(error).message
      let line = message.split(separator: "FILE, line ").first.flatMap { Int($0.prefix { $0.isNumber }) }
      let lines = text.utf8.count { $0 == 0x0A } + 1
      try expect(line.map { (1...lines).contains($0) } == true, "there is no such line: \(message)")
      return nil
    }
  }
}
