import Byway
import Glibc
import NIOCore
import Primitives

/// Where a login's secrets come from, besides files.
struct LoginSources: Sendable {
  var group: any EventLoopGroup
  var prompter: any Prompter = TerminalPrompter()
  var memory = LoginMemory.process
  /// How long an agent may take to list its keys, for which it asks nobody; the key files wait meanwhile.
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
