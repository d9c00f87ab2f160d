import Byway
import BywayPrimitives
import Foundation
import NIOCore
import TestTools
import Testing
import TransportTestSupport

@testable import SerialTransport

@Suite struct PortLockTests {
  let transport = SerialTransport()

  @Test("a port that is open is not opened again, and the error names the process that has it")
  func conflict() async throws {
    let terminal = try PseudoTerminal()
    let address = try LinkAddress("serial:\(terminal.path)")
    let before = try terminal.settings
    let channel = try await transport.connect(to: address, context: .test())
    let during = try terminal.settings
    let error = await bywayError { try await transport.connect(to: address, context: .test()) }
    #expect(error?.code == .linkUnavailable)
    #expect(error?.processing == BywayError.Processing.none)
    #expect(error?.message.hasPrefix("\(terminal.path) is in use by process \(getpid()) (") == true)
    // The second attempt has not touched the line.
    #expect(try terminal.settings == during)
    try await channel.writeAndFlush(ByteBuffer(bytes: everyByte))
    #expect(try terminal.read(256) == everyByte)
    try await channel.close()
    #expect(try terminal.settings == before)
    try await transport.connect(to: address, context: .test()).close()
  }

  @Test("another program's lock on a port is respected, and ends with that program")
  func foreignLock() async throws {
    let terminal = try PseudoTerminal()
    let address = try LinkAddress("serial:\(terminal.path)")
    let holder = Process()
    holder.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
    holder.arguments = ["--no-fork", terminal.path, "sh", "-c", "echo locked; exec sleep 60"]
    let output = Pipe()
    holder.standardOutput = output
    try holder.run()
    #expect(output.fileHandleForReading.readData(ofLength: 6) == Data("locked".utf8))

    let error = await bywayError { try await transport.connect(to: address, context: .test()) }
    #expect(error?.message.hasPrefix("\(terminal.path) is in use by process \(holder.processIdentifier) (") == true)
    kill(holder.processIdentifier, SIGKILL)
    holder.waitUntilExit()
    try await transport.connect(to: address, context: .test()).close()
  }

  @Test("a process that has a port open without a lock is found")
  func openers() throws {
    let terminal = try PseudoTerminal()
    #expect(RunningProcess.others(withOpen: terminal.path).isEmpty)
    let reader = Process()
    reader.executableURL = URL(fileURLWithPath: "/bin/sh")
    reader.arguments = ["-c", "exec 5<>\(terminal.path); echo open; exec sleep 60"]
    let output = Pipe()
    reader.standardOutput = output
    try reader.run()
    #expect(output.fileHandleForReading.readData(ofLength: 4) == Data("open".utf8))
    #expect(RunningProcess.others(withOpen: terminal.path).map(\.id) == [reader.processIdentifier])
    kill(reader.processIdentifier, SIGKILL)
    reader.waitUntilExit()
  }

  @Test("a process whose terminal is a port is found without access to that process")
  func terminal() async throws {
    // The parent reports the child's terminal. It has no terminal itself.
    let script = """
      import os, pty, time
      child, _ = pty.fork()
      if child == 0: os.execvp("sleep", ["sleep", "60"])
      name = ""
      while not name.startswith("/dev/pts/"): name = os.readlink(f"/proc/{child}/fd/0")
      os.write(1, f"{name} {child}".encode())
      time.sleep(60)
      """
    let parent = Process()
    let output = Pipe()
    parent.executableURL = URL(filePath: "/usr/bin/python3")
    parent.arguments = ["-c", script]
    parent.standardInput = FileHandle.nullDevice
    parent.standardOutput = output
    try parent.run()
    defer { parent.terminate() }
    let words = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).split(
      whereSeparator: \.isWhitespace)
    try #require(words.count == 2, "\(words)")
    #expect(RunningProcess(withTerminal: String(words[0]))?.id == Int32(words[1]))
    #expect(RunningProcess(withTerminal: "/dev/null") == nil)
  }

  @Test("the kernel's list of locks is read, and other lines are ignored")
  func lockList() async throws {
    try await withTemporaryFolder { folder in
      // No process has it open that could hold the lock instead of a process that is gone.
      let path = "\(folder)/port"
      try "".write(toFile: path, atomically: true, encoding: .utf8)
      let file = try FileStatus(of: path).identity
      let device = String(file.device >> 8 & 0xFFF, radix: 16)
      let minor = String(file.device & 0xFF | file.device >> 12 & 0xFFFF_FF00, radix: 16)
      let text = """
        1: POSIX  ADVISORY  WRITE 11 \(device):\(minor):\(file.inode) 0 EOF
        2: FLOCK  ADVISORY  WRITE 12 \(device):\(minor):\(file.inode + 1) 0 EOF
        3: FLOCK
        4: FLOCK  ADVISORY  WRITE -1 \(device):\(minor):\(file.inode) 0 EOF
        5: -> FLOCK  ADVISORY  WRITE 13 \(device):\(minor):\(file.inode) 0 EOF
        6: FLOCK  ADVISORY  WRITE 99999999 \(device):\(minor):\(file.inode) 0 EOF
        """
      try text.write(toFile: "\(folder)/locks", atomically: true, encoding: .utf8)
      let holder = RunningProcess.ofLock(on: path, locks: "\(folder)/locks")
      #expect(holder?.description == "process 99999999")
      #expect(RunningProcess.ofLock(on: path, locks: "\(folder)/missing") == nil)
    }
  }
}
