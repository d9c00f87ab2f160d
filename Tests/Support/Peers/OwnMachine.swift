/// A machine for the processes of one user, without files in /run and /tmp: Tests/Support/own_machine.sh.
package enum OwnMachine {
  /// A user that has no other processes.
  package static let user = 4321

  /// Runs a script of bash, which has the functions `byway` and `daemon`.
  /// - Parameters:
  ///   - user: 0 for root.
  ///   - setup: A script that root runs before.
  package static func run(as user: Int = OwnMachine.user, setup: String = "", _ script: String) async throws
    -> CommandResult
  {
    try await Program.bash.run(
      [Program.script("own_machine.sh"), BywayProcess.command(), "\(user)", setup, script], within: .seconds(60))
  }
}
