import Byway
import BywayHTTPWire
import BywayPrimitives
import Testing

@testable import BywayInterceptors

@Suite struct SemanticsTests {
  @Test(
    "all three date formats of HTTP are parsed (RFC 9110 §5.6.7)",
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Tue, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
      ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Sun Nov 16 08:49:37 1994", 784_975_777),
      ("SUN, 06 nov 1994 08:49:37 gmt", 784_111_777),
    ])
  func dates(_ text: String, _ seconds: Int) throws {
    let time = try #require(WallTime(httpDate: text))
    #expect(time.sinceEpoch == .seconds(seconds))
    #expect(WallTime(httpDate: time.httpDate) == time)
  }

  @Test(
    "an invalid date is rejected",
    arguments: [
      "", "0", "-1", "Thu, 31 Jun 2024 00:00:00 GMT", "Fri, 29 Feb 2023 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
      "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Foo 1994 08:49:37 GMT", "1994-11-06T08:49:37Z",
      "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 94 08:49:37 GMT",
      "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 06  Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08.49.37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
      "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
    ])
  func noDates(_ text: String) {
    #expect(WallTime(httpDate: text) == nil)
  }

  @Test("dates of four centuries survive formatting and parsing")
  func days() {
    for day in stride(from: -70_000, through: 80_000, by: 11) {
      let time = WallTime(sinceEpoch: .seconds(day * 86_400))
      if WallTime(httpDate: time.httpDate) != time { Issue.record("\(time.httpDate)") }
    }
  }

  @Test("commas in quoted strings do not separate list members (RFC 9110 §5.6.1)")
  func lists() {
    #expect(Array(ListMembers(#" a , "b,\",c" ,, d="x,y";z,"#)) == ["a", #""b,\",c""#, #"d="x,y";z"#])
    #expect(Array(ListMembers(#""unclosed, a"#)) == [#""unclosed, a"#])
    #expect(#""a\"b\\""#.unquoted == #"a"b\"#)
    #expect(#"a"b\"#.quoted == #""a\"b\\""#)
  }
}
