import Foundation
import TestPeers
import Testing

@testable import BywayDaemon

/// The folders of control sockets, on machines without other daemons.
@Suite("Folders of control sockets") struct ControlFoldersTests {
  private static let gateway = "daemon gateway --origin http://127.0.0.1:1 --link unix:/tmp"

  private func expectSuccess(_ result: CommandResult, _ output: String) {
    #expect(result.exitCode == 0, "\(result.text) \(result.errorText)")
    #expect(result.text == output, "\(result.errorText)")
  }

  @Test("root's daemons have their sockets in /run/byway, which other users may list, with a login and without")
  func root() async throws {
    let result = try await OwnMachine.run(
      as: 0, setup: "umask 077; mkdir -p /run/user/0 /tmp/other",
      """
      \(Self.gateway)/a
      XDG_RUNTIME_DIR=/run/user/0 \(Self.gateway)/b
      XDG_RUNTIME_DIR=/tmp/other \(Self.gateway)/c
      stat -c '%a' /run/byway
      ls /run/byway | wc -l; ls /tmp/other/byway | wc -l; ls /run/user/0 | wc -l
      byway status | grep -c '^gateway-'
      """)
    expectSuccess(result, "755\n2\n1\n0\n2\n")
  }

  @Test(
    "daemons of a user without XDG_RUNTIME_DIR have their sockets in a private folder, where every session finds them")
  func withoutLogin() async throws {
    let result = try await OwnMachine.run(
      """
      umask 0
      \(Self.gateway)/a
      \(Self.gateway)/b
      stat -c '%a %u' /tmp/byway-4321 /tmp/byway-4321/*
      byway status | grep -c '^gateway-'
      XDG_RUNTIME_DIR=/tmp/other byway status | grep -c '^gateway-'
      grep -c 'control socket' /tmp/*.log || true
      """)
    let lines = result.text.split(separator: "\n").filter { !$0.contains(".log:0") }
    #expect(lines == ["700 4321", "700 4321", "700 4321", "2", "2"], "\(result.text) \(result.errorText)")
  }

  @Test(
    "byway status without XDG_RUNTIME_DIR finds the daemons of a login, and ignores the folder of another user")
  func otherSession() async throws {
    let result = try await OwnMachine.run(
      setup: "mkdir -p -m 755 /run/user; mkdir -m 700 /run/user/$user; "
        + "if [ $OWN_MACHINE = 0 ]; then chown $user /run/user/$user; fi",
      """
      XDG_RUNTIME_DIR=/run/user/4321 \(Self.gateway)/a --instance login
      XDG_RUNTIME_DIR=/proc/1 \(Self.gateway)/b --instance other
      ls /run/user/4321/byway /tmp/byway-4321
      byway status | grep -o '^[a-z]*: gateway'
      """)
    expectSuccess(
      result,
      "/run/user/4321/byway:\nlogin\n\n/tmp/byway-4321:\nother\nlogin: gateway\nother: gateway\n")
  }

  @Test(
    "daemons and byway status refuse a folder in /tmp that another user has made or can write to, with the reason",
    arguments: [
      ("mkdir /tmp/byway-4321; chown 4322 /tmp/byway-4321", "/tmp/byway-4321 belongs to another user (4322)", true),
      (
        "mkdir -m 755 /tmp/x; chown 4321 /tmp/x; ln -s x /tmp/byway-4321; chown -h 4322 /tmp/byway-4321",
        "/tmp/byway-4321 is a symbolic link of another user (4322)", true
      ),
      ("mkdir -m 777 /tmp/byway-4321", "Others can write to /tmp/byway-4321", false),
      ("touch /tmp/byway-4321", "/tmp/byway-4321 is not a folder", false),
    ])
  func planted(_ setup: String, _ reason: String, _ needsRoot: Bool) async throws {
    guard geteuid() == 0 || !needsRoot else { return }
    let result = try await OwnMachine.run(
      setup: setup,
      """
      \(Self.gateway)/l
      cat /tmp/*.log
      test -z "$(ls -A /tmp/byway-4321/ || true)"
      byway status || echo $?
      """)
    #expect(result.exitCode == 0, "\(result.errorText)")
    #expect(result.text.contains("There is no control socket"), "\(result.text)")
    #expect(result.text.contains(reason) && result.text.hasSuffix("\n69\n"), "\(result.text)")
    #expect(result.errorText.contains("No gateway or proxy of this user runs"), "\(result.errorText)")
    #expect(result.errorText.contains(reason), "\(result.errorText)")
  }

  @Test("daemons without a given name are numbered, and the name of a process leads to its id")
  func names() {
    #expect(DaemonName("hall", isGiven: true).candidates == ["hall"])
    #expect(DaemonName("hall", isGiven: false).candidates.prefix(3) == ["hall", "hall-2", "hall-3"])
    let own = DaemonName.ofProcess("proxy")
    #expect(own.candidates.prefix(2).map { DaemonName.process(of: $0) } == [getpid(), getpid()])
    for name in ["hall", "hall-2", "proxy", "proxy-", "proxy-x", "proxy--1", "proxy-0", "myproxy-12", ""] {
      #expect(DaemonName.process(of: name) == nil, "\(name)")
    }
  }
}
