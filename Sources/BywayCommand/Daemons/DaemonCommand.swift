import ArgumentParser
import BywayDaemon

/// A command that runs a daemon.
protocol DaemonCommand: AsyncParsableCommand {
  associatedtype Member: DaemonMember
  associatedtype Options: MemberOptions where Options.Configuration == Member.Configuration

  /// A further kind of section that applies to all members, and the options for its settings; `nil` if there is none.
  static var sharedSections: (kind: String, options: [String: String])? { get }

  var member: Options { get set }
  var daemon: DaemonOptions { get }
  var file: DaemonFileOptions { get }
}

extension DaemonCommand {
  static var sharedSections: (kind: String, options: [String: String])? { nil }

  /// The kind of sections with plugins, which apply to all members.
  static var pluginSections: String { "interceptor" }

  /// The words that begin the sections of its files.
  static var sectionKinds: [String] { [Member.kind] + [sharedSections?.kind].compactMap(\.self) + [pluginSections] }
}
