import Logging
package import NIOCore
import NIOPosix

extension LinkContext {
  /// The context for channels that a check opens, without a log.
  package static func ofExamination(within limit: TimeAmount) -> LinkContext {
    LinkContext(
      group: MultiThreadedEventLoopGroup.singleton,
      logger: Logger(label: "byway.examination", factory: { _ in SwiftLogNoOpLogHandler() }), deadline: .now() + limit)
  }
}
