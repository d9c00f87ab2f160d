import BywayLineLayer
import Testing

@testable import Byway

/// A login in virtual time, and the test as the console that it meets.
final class ConsoleRig {
  static let second: UInt64 = 1_000_000_000
  static let seed: UInt32 = 0x5EED_0001

  var login: ConsoleLogin
  private(set) var now: UInt64 = 0
  private(set) var ending: ConsoleLogin.Action?
  private(set) var passwords = 0
  private var sent: [UInt8] = []

  init(
    _ link: String = "unix:/console?login=operator", goal: ConsoleLogin.Goal = .gateway, limit: UInt64 = 45
  ) throws {
    login = ConsoleLogin(
      try Self.settings(link), goal: goal, seed: Self.seed, at: 0, deadline: limit * Self.second)
    act()
  }

  static func settings(_ link: String) throws -> ConsoleSettings {
    try #require(
      try ConsoleSettings(
        LinkAddress(link), opening: nil, line: LineProperties(bytesPerSecond: 11_520)))
  }

  /// The text that was sent since the last call.
  func said() -> String {
    defer { sent = [] }
    return String(decoding: sent, as: UTF8.self)
  }

  func hear(_ text: String) { hear(Array(text.utf8)) }

  func hear(_ bytes: [UInt8]) {
    login.receive(bytes, at: now)
    act()
  }

  /// Lets time pass.
  func pass(milliseconds: UInt64) {
    let end = now + milliseconds * 1_000_000
    while let deadline = login.nextDeadline, deadline <= end {
      now = max(now, deadline)
      login.handleTimeout(at: now)
      act()
    }
    now = end
  }

  /// The console prints, and is silent for as long as a prompt takes to be seen.
  func show(_ text: String) {
    hear(text)
    pass(milliseconds: 301)
  }

  private func act() {
    while let action = login.nextAction() {
      switch action {
      case .send(let bytes): sent += bytes
      case .sendPassword: passwords += 1
      case .ready, .failed: ending = action
      }
    }
  }

  var failure: ConsoleFailure? { if case .failed(let failure) = ending { failure } else { nil } }
  var isReady: Bool { if case .ready = ending { true } else { false } }

  static func mark(_ kind: String, _ suffix: String = "") -> String { "BYWAY-\(kind)-5eed0001-\(suffix)\r\n" }

  /// Types a login up to the shell's prompt.
  func logIn() {
    show("\r\nbox login: ")
    show("operator\r\nPassword: ")
    show("\r\nWelcome\r\n$ ")
  }

  /// Answers as a shell, up to the start of the gateway.
  func startGateway() {
    hear(Self.mark("S"))
    hear(Self.mark("B"))
  }

  static var hello: [UInt8] {
    var scratch: [UInt8] = []
    var bytes: [UInt8] = [0]
    FrameCodec.encode(
      .hello(version: 1, incarnation: 7, largestPayload: 256), seal: nil, scratch: &scratch, into: &bytes)
    return bytes
  }
}
