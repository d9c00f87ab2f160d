import ArgumentParser

/// A command that runs a daemon.
protocol DaemonCommand: AsyncParsableCommand {
  associatedtype Member: DaemonMember

  var member: Member.Options { get set }
  var daemon: DaemonOptions { get }
  var file: DaemonFileOptions { get }
}

extension DaemonCommand {
  /// Returns the beginning of messages about a member; empty if it has no section of its own.
  static func place(of name: String) -> String { name.isEmpty ? "" : "[\(Member.kind) \(name)]: " }
}
