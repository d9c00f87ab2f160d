package import Byway
import BywayPrimitives

/// Examines links.
package struct Doctor: Sendable {
  private let transports: TransportRegistry
  private let stopCommand: @Sendable (Int32) -> String?

  /// - Parameter stopCommand: returns the command that stops a daemon of this program, by its process; `nil` if it is none.
  package init(_ transports: TransportRegistry, stopCommand: @escaping @Sendable (Int32) -> String? = { _ in nil }) {
    self.transports = transports
    self.stopCommand = stopCommand
  }

  /// Examines a link from the medium upwards, until a check finds a fault.
  /// - Parameter observer: called with each step as it ends.
  package func examine(
    _ link: Link, observer: @escaping @Sendable (LinkStep) async -> Void = { _ in }
  ) async -> Report {
    let examination = Examination(observer: observer)
    var over: Examination.Over?
    do throws(Examination.Over) {
      try await examine(link, in: examination)
    } catch {
      over = error
    }
    await examination.resources.release()
    return Report(of: link.address.text, await examination.steps, over, after: await examination.duration)
  }

  /// Examines the medium, then the peer by HTTP.
  private func examine(_ link: Link, in examination: Examination) async throws(Examination.Over) {
    let link = link.examined
    let mediumState: MediumState
    if let transport = link.medium as? any Examinable {
      mediumState = try await examination.examine(link.address, over: transport)
    } else if link.opening == .listen {
      mediumState = .unasked
    } else {
      try await examination.open(link.address, over: link.medium)
      mediumState = .free
    }
    switch mediumState {
    case .free:
      if link.line != nil, link.opening != .listen { try await LineExamination(link: link).examine(in: examination) }
      try await FarEndExamination(link).examine(in: examination)
    case .unasked:
      await examination.skip(GatewayCheck.self, because: "Only the far end can open this link.")
    case .taken(let holder):
      let client = try await examination.make(
        ProxyCheck(
          holder: RunningProcess(holder), place: link.address.place, transports: transports, stopCommand: stopCommand))
      try await examination.make(OriginCheck(client: client))
    }
  }
}

extension Link {
  /// The same link over a transport that leaves no traces.
  fileprivate var examined: Link {
    guard let transport = medium as? any Examinable else { return self }
    return replacing(medium: transport.examined)
  }
}
