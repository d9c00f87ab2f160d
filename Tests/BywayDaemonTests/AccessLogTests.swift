import BywayGateway
import BywayHTTPWire
import BywayPrimitives
import BywayTerminal
import Foundation
import Glibc
import HTTPTypes
import LoopbackTransport
import NIOCore
import Synchronization
import TestTools
import Testing

@testable import Byway
@testable import BywayDaemon

/// The content and the files of an access log.
@Suite(.timeLimit(.minutes(1))) struct AccessLogTests {
  private let folder: TemporaryFolder
  private let log = LogLines()

  init() throws {
    // The command ignores SIGPIPE as well.
    signal(SIGPIPE, SIG_IGN)
    folder = try TemporaryFolder()
  }

  private var path: String { folder["access.log"] }

  private func accessLog(
    _ format: AccessLogFormat = .combined, at path: String? = nil, lost: @escaping @Sendable (Int) -> Void = { _ in }
  ) throws -> AccessLog {
    try AccessLog(path ?? self.path, format, logger: log.logger(), lost: lost)
  }

  private func lines(_ path: String? = nil) throws -> [String] {
    try String(contentsOfFile: path ?? self.path, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  private func record(
    _ head: FieldSection, status: Int? = 200, bytes: Int = 5, from peer: ExchangePeer? = nil
  ) -> ExchangeRecord {
    var record = ExchangeRecord(
      listener: "unix:/l", peer: peer, version: .http1_1, head: head, trace: TraceID(high: 1, low: 0xAB),
      begun: .now())
    record.status = status
    record.responseBytes = bytes
    record.ended = .now()
    return record
  }

  /// The combined log format from Apache's documentation, plus the id.
  private nonisolated(unsafe) static let combined =
    /(\S+) (\S+) (\S+) \[(\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000)\] "((?:[^"\\]|\\.)*)" (\d{3}|-) (\d+|-) "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)" "([0-9a-f]{32}|-)"/

  @Test("the combined format is Apache's plus the exchange id, with untrusted text escaped")
  func combined() async throws {
    let log = try accessLog()
    log.exchangeEnded(record([":method": "GET", ":path": "/a", "referer": "http://x/", "user-agent": "curl/8"]))
    log.exchangeEnded(record([":method": "GET", ":path": "/\"\\\u{1B}\n\u{E9}"], status: 404, bytes: 0))
    log.exchangeEnded(record([":method": "CONNECT", ":authority": "user:word@host:443"], status: nil))
    log.exchangeEnded(record([:], status: 400))
    await log.finish()
    let found = try lines().map { try #require($0.wholeMatch(of: Self.combined), "\($0)").output }
    #expect(
      found.map { "\($0.5)|\($0.6)|\($0.7)|\($0.8)|\($0.9)" } == [
        "GET /a HTTP/1.1|200|5|http://x/|curl/8",
        #"GET /\"\\\x1b\x0a\xc3\xa9 HTTP/1.1|404|-|-|-"#,
        "CONNECT host:443 HTTP/1.1|-|5|-|-",
        "-|400|5|-|-",
      ])
    #expect(found.first?.10 == "000000000000000100000000000000ab")
  }

  @Test("the JSON format has the notes of plugins, escaped")
  func notes() async throws {
    let log = try accessLog(.json)
    var noted = record([":method": "GET", ":path": "/"])
    noted.notes = [.init(plugin: "stamp", text: "page \"7\""), .init(plugin: "other", text: "x")]
    log.exchangeEnded(noted)
    log.exchangeEnded(record([":method": "GET", ":path": "/"]))
    await log.finish()
    let lines = try lines()
    let notes: JSON = [["plugin": "stamp", "text": "page \"7\""], ["plugin": "other", "text": "x"]]
    #expect(try #require(JSON(parsing: lines[0]))["notes"] == notes, "\(lines)")
    #expect(try #require(JSON(parsing: lines[1]))["notes"] == nil)
  }

  @Test("the combined format has a column for the user name, with blanks in the name escaped")
  func users() async throws {
    let cases = [("alice", "alice"), ("Carol \"M\u{FC}", #"Carol\x20\"M\xc3\xbc"#)]
    for (number, (user, column)) in cases.enumerated() {
      var record = record([":method": "GET", ":path": "/"])
      record.user = user
      for format in AccessLogFormat.allCases {
        let path = folder["\(format)\(number)"]
        let log = try accessLog(format, at: path)
        log.exchangeEnded(record)
        await log.finish()
        let line = try #require(try lines(path).first)
        switch format {
        case .combined: #expect(try #require(line.wholeMatch(of: Self.combined), "\(line)").output.3 == column)
        case .json:
          let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
          #expect(object?["user"] as? String == user)
        }
      }
    }
  }

  @Test("both formats have the client's address, and JSON the user and process of a client on a Unix socket")
  func peers() async throws {
    let peers = [
      ExchangePeer(address: "192.0.2.7"), ExchangePeer(address: "2001:db8::7"),
      ExchangePeer(address: nil, userID: 0, processID: 4321), ExchangePeer(address: nil), nil,
    ]
    for format in AccessLogFormat.allCases {
      let log = try accessLog(format, at: folder["\(format)"])
      for peer in peers { log.exchangeEnded(record([":method": "GET", ":path": "/"], from: peer)) }
      await log.finish()
    }
    let columns = try lines(folder["combined"]).map { try #require($0.wholeMatch(of: Self.combined), "\($0)").output.1 }
    #expect(columns == ["192.0.2.7", "2001:db8::7", "-", "-", "-"])
    let objects = try lines(folder["json"]).map {
      try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(objects.map { $0["peer"] as? String } == ["192.0.2.7", "2001:db8::7", "unix", "unix", nil])
    #expect(objects.map { $0["uid"] as? Int } == [nil, nil, 0, nil, nil])
    #expect(objects.map { $0["pid"] as? Int } == [nil, nil, 4321, nil, nil])
  }

  @Test("both formats leave out secrets of requests", arguments: AccessLogFormat.allCases)
  func secrets(_ format: AccessLogFormat) async throws {
    let log = try accessLog(format)
    log.exchangeEnded(
      record([
        ":method": "GET", ":path": "/p;jsessionid=hidden?a=1&token=hidden&password=hidden#access_token=hidden",
        "referer": "http://me:hidden@x/?key=hidden", "authorization": "Basic hidden", "cookie": "hidden=hidden",
      ]))
    log.exchangeEnded(record([":method": "GET", ":path": "/", ":authority": "me:hidden@x"]))
    await log.finish()
    let text = try lines().joined()
    #expect(!text.contains("hidden") && text.contains("a=1"), "\(text)")
  }

  @Test(
    "both formats leave out secrets in disguise, such as percent-encoded ones",
    arguments: [
      (":path", "/?jwt=hidden"), (":path", "/fetch/https%3A%2F%2Fme%3Ahidden%40h%2F"), (":path", "/x%3Ftoken%3Dhidden"),
      (":path", "/?https%3A%2F%2Fh%2F%3Ftoken%3Dhidden"), (":path", "/Reset-Token/hidden/next"),
      (":path", "/%74oken/hidden"), ("referer", "https://me:hidden@h/"), ("referer", "http://h/session/hidden"),
      ("user-agent", "bot/1 (+https://me:hidden@h/; x) y"),
    ])
  func hiding(_ name: String, _ value: String) async throws {
    for format in AccessLogFormat.allCases {
      let log = try accessLog(format)
      log.exchangeEnded(record([":method": "GET", name: value]))
      await log.finish()
    }
    let text = try lines().joined()
    #expect(!text.contains("hidden"), "\(text)")
  }

  @Test("lines written from several threads are complete, and those of one thread in order")
  func threads() async throws {
    let log = try accessLog()
    await withTaskGroup { group in
      for thread in 0..<4 {
        group.addTask {
          for index in 0..<1000 {
            log.exchangeEnded(self.record([":method": "GET", ":path": "/\(thread)/\(index)"]))
          }
        }
      }
    }
    await log.finish()
    let found = try lines().map { try #require($0.wholeMatch(of: Self.combined), "\($0)").output.5 }
    #expect(found.count == 4000 && Set(found).count == 4000)
  }

  @Test("the JSON format has all known facts, with phases in seconds")
  func json() async throws {
    let log = try accessLog(.json)
    var record = record([":method": "GET", ":path": "/a", ":scheme": "http", ":authority": "here"], status: 502)
    record.sent = record.begun + .milliseconds(20)
    record.requestEnded = record.begun
    record.answered = record.begun + .milliseconds(25)
    record.ended = record.begun + .milliseconds(125)
    record.attempts = 2
    record.upstream = "http://origin"
    record.requestBytes = 3
    record.failure = .init(code: .originLost, party: .origin)
    log.exchangeEnded(record)
    await log.finish()
    let line = try #require(lines().first)
    let object = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    let texts = [
      "trace": "000000000000000100000000000000ab", "listener": "unix:/l", "version": "1.1", "method": "GET",
      "scheme": "http", "authority": "here", "path": "/a", "failure": "originLost", "failedBy": "origin",
      "upstream": "http://origin",
    ]
    for (name, text) in texts { #expect(object[name] as? String == text, "\(name)") }
    let numbers = [
      "status": 502, "attempts": 2, "requestBytes": 3, "responseBytes": 5, "wait": 0.02, "send": 0, "origin": 0.005,
      "receive": 0.1, "duration": 0.125,
    ]
    for (name, number) in numbers { #expect(object[name] as? Double == number, "\(name)") }
    #expect(object.count == texts.count + numbers.count + 1)
    let time = try #require(object["time"] as? String)
    #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
    let now = WallTime.now()
    #expect(time <= now.timestamp && time > (now + .seconds(-60)).timestamp)
  }

  @Test("a line is written to the file within a second, without a flush")
  func flushed() async throws {
    let log = try accessLog()
    log.exchangeEnded(record([":method": "GET", ":path": "/"]))
    #expect(try await eventually { try lines().count == 1 })
    _ = log
  }

  @Test("no line is lost when the file is renamed and reopened")
  func rotation() async throws {
    let log = try accessLog()
    for index in 0..<3000 {
      log.exchangeEnded(record([":method": "GET", ":path": "/\(index)"]))
      if index % 1000 == 500 {
        #expect(rename(path, "\(path).\(index)") == 0)
        log.reopen()
        #expect(try await eventually { FileManager.default.fileExists(atPath: path) })
      }
    }
    await log.finish()
    var numbers: [Int?] = []
    for file in ["\(path).500", "\(path).1500", "\(path).2500", path] {
      numbers += try lines(file).map { $0.firstMatch(of: #/GET /(\d+) HTTP/#).flatMap { Int($0.1) } }
    }
    #expect(numbers == Array(0..<3000))
  }

  @Test("reopening closes the renamed file, so that deleting it frees its space")
  func renamedFile() throws {
    var file = try AccessLogFile(path)
    for round in 0..<3 {
      #expect(rename(path, "\(path).\(round)") == 0)
      try file.reopen()
    }
    #expect(try folder.openFiles() == [path])
    // The old file stays open if the new one cannot be opened.
    #expect(rename(path, "\(path).old") == 0 && mkdir(path, 0o700) == 0)
    #expect(throws: FileRefusal.self) { try file.reopen() }
    #expect(try folder.openFiles() == ["\(path).old"])
  }

  /// Opens a log on a pipe that contains a partial line, and returns the pipe's reader.
  private func partialLine() throws -> (file: AccessLogFile, reader: CInt) {
    #expect(mkfifo(path, 0o600) == 0)
    let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    var file = try AccessLogFile(path)
    let writer = try #require(try folder.openDescriptors().first { $0 != reader })
    // Like a full disk: bytes without room are refused.
    #expect(fcntl(writer, F_SETFL, fcntl(writer, F_GETFL) | O_NONBLOCK) == 0)
    #expect(Self.write("\(String(repeating: "x", count: 1 << 20))\n", to: &file) == 1)
    return (file, reader)
  }

  /// - Returns: the number of lines that were lost.
  private static func write(_ text: String, to file: inout AccessLogFile) -> Int {
    Array(text.utf8).withUnsafeBytes { file.write($0).lost }
  }

  private static func takeAll(_ reader: CInt) -> String {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = read(reader, &buffer, buffer.count), count > 0 { all += buffer[..<count] }
    return String(decoding: all, as: UTF8.self)
  }

  @Test(
    "a partly written line is terminated before the next line, even if lines are lost in between", arguments: 0...2)
  func partialLine(_ losses: Int) throws {
    var (file, reader) = try partialLine()
    defer { close(reader) }
    for _ in 0..<losses { #expect(Self.write("lost\nlost\n", to: &file) == 2) }
    #expect(Self.takeAll(reader).allSatisfy { $0 == "x" })
    for line in ["next\n", "last\n"] { #expect(Self.write(line, to: &file) == 0) }
    #expect(Self.takeAll(reader) == "\nnext\nlast\n")
  }

  @Test("reopening the same file terminates a partial line, and a new file does not begin with an empty line")
  func partialLineReopened() throws {
    var (file, reader) = try partialLine()
    defer { close(reader) }
    _ = Self.takeAll(reader)
    try file.reopen()
    #expect(Self.write("next\n", to: &file) == 0)
    #expect(Self.takeAll(reader) == "\nnext\n")
    #expect(rename(path, "\(path).old") == 0)
    try file.reopen()
    #expect(Self.write("new\n", to: &file) == 0)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "new\n")
  }

  @Test("a partial line in a renamed file causes no empty line in the new file")
  func partialLineRenamed() throws {
    var (file, reader) = try partialLine()
    defer { close(reader) }
    #expect(rename(path, "\(path).old") == 0)
    try file.reopen()
    #expect(Self.write("new\n", to: &file) == 0)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "new\n")
  }

  @Test("a full disk loses lines, which are counted and reported")
  func fullDisk() async throws {
    let lost = Mutex(0)
    let log = try accessLog(at: "/dev/full") { count in lost.withLock { $0 += count } }
    for _ in 0..<7 { log.exchangeEnded(record([":method": "GET", ":path": "/"])) }
    await log.finish()
    #expect(lost.withLock { $0 } == 7)
    #expect(self.log.text.contains("The access log has lost lines count=7"), "\(self.log.text)")
  }

  @Test("lost lines are reported once a minute, and each line is counted once")
  func lostInTurns() throws {
    let clock = Mutex(NIODeadline.uptimeNanoseconds(1))
    let lost = Mutex(0)
    let clockTime: @Sendable () -> NIODeadline = { clock.withLock(\.self) }
    let writer = AccessLogWriter(try AccessLogFile("/dev/full"), logger: log.logger(), now: clockTime) { count in
      lost.withLock { $0 += count }
    }
    for seconds in [0, 30, 29, 1, 60] as [Int64] {
      clock.withLock { $0 = $0 + .seconds(seconds) }
      let page = AccessLogPage(.combined)
      for _ in 0..<7 { _ = page.add(record([":method": "GET", ":path": "/"]).state) }
      writer.write(page)
    }
    let counts = log.text.matches(of: /lost lines count=(\d+)/).map(\.output.1)
    #expect(counts == ["7", "21", "7"], "\(log.text)")
    #expect(lost.withLock(\.self) == 35)
  }

  @Test("at most 1 MiB of whole lines waits to be written, and further lines are counted", arguments: ["x", "\u{1}"])
  func waiting(_ character: String) {
    let page = AccessLogPage(.combined)
    // The second character is written as four.
    let long = record([":method": "GET", ":path": "/\(String(repeating: character, count: 4000))"]).state
    for _ in 0..<300 { _ = page.add(long) }
    var lines = LineBuffer()
    let lost = page.take(&lines)
    let whole = lines.withBytes { $0.count { $0 == UInt8(ascii: "\n") } }
    #expect(lost > 0 && lost + whole == 300)
    #expect(lines.count <= 1 << 20 && lines.count > (1 << 20) - 20_000)
    #expect(lines.withBytes { $0.last } == UInt8(ascii: "\n"))
    // There is room again.
    _ = page.add(long)
    #expect(page.take(&lines) == 0 && lines.count > 0)
  }

  @Test("a slow reader of a pipe loses lines beyond a limit, and does not block the daemon")
  func slowReader() async throws {
    let pipe = folder["pipe"]
    #expect(mkfifo(pipe, 0o600) == 0)
    #expect(throws: CommandFailure.self) { try accessLog(at: pipe) }
    let reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    let lost = Mutex(0)
    let log = try accessLog(at: pipe) { count in lost.withLock { $0 += count } }
    let start = ContinuousClock.now
    let long = String(repeating: "x", count: 4000)
    for _ in 0..<5000 { log.exchangeEnded(record([":method": "GET", ":path": "/\(long)"])) }
    #expect(ContinuousClock.now - start < .seconds(10))
    // Without a reader, writing fails, and the lines are counted as lost.
    close(reader)
    #expect(try await eventually { lost.withLock { $0 } > 2000 })
    await log.finish()
  }

  @Test("the access log has a gateway's exchanges, with the party that caused each failure")
  func gateway() async throws {
    let log = try accessLog(.json)
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:access-\(UInt64.random(in: 0 ... .max))")
    var configuration = GatewayConfiguration(
      links: [link],
      origin: .handler { request in
        if request.head.path == "/fails" { throw BywayError(.originLost, "It is gone.") }
        return Response(status: .ok, body: Body("hello"))
      })
    configuration.observers = [log]
    let gateway = try await Gateway.start(configuration)
    // Tests of the parser occupy both threads of a small machine for seconds.
    var patient = BywayClient.Configuration.defaults
    patient.patience = .seconds(60)
    let client = BywayClient(link, configuration: patient)
    for path in ["/works", "/fails"] {
      _ = try await client.execute(Request(url: "http://x\(path)")).body.collect(upTo: 1000)
    }
    await client.shutDown()
    await gateway.stop(within: .seconds(1))
    await log.finish()
    let objects = try lines().map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    #expect(
      objects.map { $0["status"] as? Int } == [200, 502]
        && objects.map { $0["failure"] as? String } == [nil, "originLost"])
  }
}
