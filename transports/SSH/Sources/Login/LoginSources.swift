import Byway
import BywayLibC
import BywayPrimitives
import NIOCore

/// The sources of a login's secrets other than files.
struct LoginSources: Sendable {
  var group: any EventLoopGroup
  var prompter: any Prompter = TerminalPrompter()
  var memory = LoginMemory.process
  /// The time that an agent may take to list its keys, which needs no user. The key files wait meanwhile.
  var agentPatience = TimeAmount.seconds(10)
  var variable: @Sendable (String) -> String? = { Environment[$0] }

  /// - Parameter option: the address's option that names the variable.
  func secret(_ source: SecretSource, for option: String) throws(BywayError) -> Secret {
    guard let value = variable(source.variable), !value.isEmpty else {
      throw BywayError(
        .linkUnavailable,
        "The environment variable \(source.variable), which \(option)= names, is not set: set it, or leave out the option.",
        processing: .none)
    }
    return Secret(Array(value.utf8))
  }
}
