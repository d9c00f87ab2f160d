import Byway
import LoopbackTransport
import ProcessTransport
import Testing
import UnixTransport

@testable import BywayCommand
@testable import BywayDaemonProcess

/// The list of `--interceptors`.
@Suite("Order of interceptors") struct InterceptorOrderTests {
  private static let transports = TransportRegistry([LoopbackTransport(), ExecTransport(), UnixTransport()])

  private func sorted(_ list: String?, _ names: [String]) throws -> [String] {
    try InterceptorOrder(list).sorted(names, by: \.self)
  }

  @Test("without a list, interceptors stay in their order, and a list sets the order")
  func order() throws {
    #expect(try sorted(nil, ["trace", "a", "b"]) == ["trace", "a", "b"])
    #expect(try sorted("a, cache ,trace", ["trace", "a", "cache"]) == ["a", "cache", "trace"])
  }

  @Test(
    "a list that does not name each interceptor once is refused with what to do",
    arguments: [
      ("a,b", ["a"], "no interceptor is called b. The names are a."), ("a", ["a", "stub"], "leaves out stub: add it"),
      ("a,cache", ["a"], "cache is not in use: add --cache"), ("a,a", ["a"], "a is in the list twice"),
      ("a,,b", ["a", "b"], "a name is missing"), ("x", [], "There are none."),
    ])
  func mistakes(_ list: String, _ names: [String], _ hint: String) {
    #expect {
      try sorted(list, names)
    } throws: { error in
      error.asFailure.message.hasPrefix("--interceptors: ") && error.asFailure.message.contains(hint)
    }
  }

  @Test("two plugins of one name are refused, with a list and without", arguments: [nil, "trace,a", "a,a,trace"])
  func twice(_ list: String?) {
    #expect {
      try sorted(list, ["trace", "a", "a"])
    } throws: { error in
      error.asFailure.message
        == "--interceptor: two plugins are called a: give one another name, with as=NAME or in [interceptor NAME]."
    }
  }

  @Test("the list may contain plugins by name, and compression is next to the link unless the list says otherwise")
  func chain() throws {
    let options = [
      "--trace", "t.har", "--compress", "--auth", "n", "--interceptor", "exec:x?as=one", "--interceptor",
      "unix:/u?as=two",
    ]
    func names(_ end: [String], at gateway: Bool) throws -> [String] {
      try InterceptorOptions.parse(options + end).chain(
        at: gateway ? .gateway : .client, hasCache: !gateway, in: Self.transports
      ).map { $0.name }
    }
    #expect(try names([], at: false) == ["trace", "one", "two", "cache", "auth", "compress"])
    #expect(try names([], at: true) == ["compress", "trace", "one", "two", "auth"])
    #expect(
      try names(["--interceptors", "compress,two,one,auth,cache,trace"], at: false)
        == ["compress", "two", "one", "auth", "cache", "trace"])
  }
}
