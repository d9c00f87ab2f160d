// The peer in tests of stdio: echoes its standard input. The first argument may select another behavior.
import Byway
import BywayTesting
import Logging
import NIOCore
import NIOPosix
import ProcessTransport

let context = LinkContext(
  group: MultiThreadedEventLoopGroup.singleton, logger: Logger(label: "echo"), deadline: .now() + .seconds(5))
let transport = StdioTransport()
let listener = try await transport.listen(on: LinkAddress("stdio:"), context: context)
print("a stray line, which must not reach the link")
for try await channel in listener.channels {
  try await channel.eventLoop.submit {
    try channel.pipeline.syncOperations.addHandler(EchoHandler())
  }.get()
  try await channel.closeFuture.get()
}
