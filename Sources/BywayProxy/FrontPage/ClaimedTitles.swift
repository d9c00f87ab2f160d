import Byway
import BywayDevices
import NIOCore

/// The titles that gateways of configured devices report. Only open links are asked, and only when a client requests the list, so
/// that a look at the list opens no link.
actor ClaimedTitles {
  /// The maximum number of questions at once. Each ends within 5 s.
  private static let limit = 8

  private struct Answer {
    /// When the link was opened that the question went over; `nil` if there were several connections.
    let since: NIODeadline?
    var title: String?
  }

  private let devices: DeviceTable
  private var answers: [DeviceName?: Answer] = [:]
  private var running = 0

  init(_ devices: DeviceTable) {
    self.devices = devices
  }

  /// Adds the known titles, and asks for unknown ones, which later calls add.
  func complete(_ entries: [DeviceEntry]) async -> [DeviceEntry] {
    var entries = entries
    for index in entries.indices where entries[index].title == nil {
      let name = entries[index].name
      if case .open(let since) = entries[index].status.state { await ask(name, openSince: since) }
      entries[index].title = answers[name]?.title
    }
    return entries
  }

  private func ask(_ name: DeviceName?, openSince since: NIODeadline?) async {
    let known = answers[name]
    if let known, known.since == since { return }
    guard running < Self.limit else { return }
    running += 1
    answers[name] = Answer(since: since, title: known?.title)
    let client = try? await devices.eventLoop.submit { [devices] in devices.gatewayClient(for: name) }.get()
    guard let client else { return running -= 1 }
    Task {
      answers[name]?.title = await ClaimReader.claim(from: client)?.title?.text
      running -= 1
    }
  }
}
