import BywayPrimitives
import Glibc
import TestTools
import Testing

@Suite struct SocketCallsTests {
  @Test("the calls of the kernel move bytes between two sockets, and report errors")
  func kernel() throws {
    let calls = SocketCalls.kernel
    let folder = try TemporaryFolder()
    func address(_ path: String) -> [UInt8] { [UInt8(AF_UNIX), 0] + Array(path.utf8) + [0] }
    let bound = address(folder["s"])
    let listener = try calls.make(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    let dialer = try calls.make(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    defer { for descriptor in [listener, dialer] { close(descriptor) } }
    #expect(throws: SystemError(code: ENOENT)) { try calls.connect(dialer, bound) }
    try calls.bind(listener, bound)
    #expect(throws: SystemError(code: EADDRINUSE)) { try calls.bind(listener, bound) }
    #expect(throws: SystemError(code: ECONNREFUSED)) { try calls.connect(dialer, bound) }
    #expect(throws: SystemError(code: EINVAL)) { try calls.accept(listener, address("")) }
    try calls.listen(listener, 1)
    try calls.bind(dialer, address(folder["d"]))
    try calls.connect(dialer, bound)
    let (accepted, peer) = try calls.accept(listener, Array(repeating: 0, count: 110))
    defer { close(accepted) }
    #expect(peer.starts(with: address(folder["d"])))
    try calls.setOption(accepted, SOL_SOCKET, SO_RCVLOWAT, [7, 0, 0, 0])
    #expect(throws: SystemError(code: EINVAL)) { try calls.setOption(accepted, SOL_SOCKET, SO_RCVLOWAT, [7]) }
    #expect(write(dialer, "abc", 3) == 3)
    #expect(try calls.control(accepted, UInt(FIONREAD), [0, 0, 0, 0]) == [3, 0, 0, 0])
    #expect(throws: SystemError(code: ENOTTY)) { try calls.control(accepted, 0x8004_48D2, [0, 0, 0, 0]) }
    try calls.checkError(accepted)
    #expect(throws: SystemError(code: EBADF)) { try calls.listen(-1, 1) }
    #expect(throws: SystemError(code: EBADF)) { try calls.checkError(-1) }
    #expect(throws: SystemError(code: EAFNOSUPPORT)) { try calls.make(4711, CInt(SOCK_STREAM.rawValue), 0) }
  }
}
