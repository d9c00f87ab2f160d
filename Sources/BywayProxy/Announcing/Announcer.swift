import Byway
import BywayDevices
import Logging
import NIOCore

/// Publishes a proxy's devices in the network by DNS-SD, while Avahi's daemon is running.
///
/// Start, reload and stop must not overlap.
actor Announcer {
  /// The time between two checks of the devices and of Avahi's daemon.
  private static let pause = Duration.seconds(2)

  private struct Published {
    let announcement: Announcement
    var state: State

    enum State {
      case told(AvahiSession.Publication)
      /// Published under another title, because the first one was taken.
      case retitled(AvahiSession.Publication)
      /// Refused by Avahi.
      case refused

      var publication: AvahiSession.Publication? {
        switch self {
        case .told(let publication), .retitled(let publication): publication
        case .refused: nil
        }
      }
    }
  }

  private let devices: DeviceTable
  private var rules: AnnouncementRules?
  private var place: LinkAddress?
  private var logger = Logger(label: "byway.proxy")
  private var watching: Task<Void, Never>?
  private var session: AvahiSession?
  private var published: [DeviceName: Published] = [:]
  /// The error logged last: each is logged once, until it changes.
  private var unavailableReason: String?

  init(_ devices: DeviceTable) {
    self.devices = devices
  }

  /// - Parameters:
  ///   - rules: `nil`: nothing is published.
  ///   - place: the address for clients, as bound.
  func announce(by rules: AnnouncementRules?, at place: LinkAddress, logger: Logger) async {
    (self.rules, self.place, self.logger) = (rules, place, logger)
    guard rules != nil else { return await stop() }
    guard watching == nil else { return }
    watching = Task {
      while !Task.isCancelled {
        await self.look()
        try? await Task.sleep(for: Self.pause)
      }
    }
  }

  func stop() async {
    watching?.cancel()
    await watching?.value
    watching = nil
    close()
  }

  private func close() {
    published = [:]
    session?.close()
    session = nil
  }

  private func look() async {
    let entries = await devices.entries()
    guard let rules, let place else { return }
    do {
      let session = try self.session ?? AvahiSession(AvahiLibrary())
      self.session = session
      switch session.state {
      case .waiting:
        tell("Avahi's daemon does not answer yet.")
        // Avahi may be choosing another name for this machine: entries under the old name are published again later.
        update(to: [:], by: session)
      case .lost:
        tell("Avahi's daemon has gone.")
        close()
      case .running:
        tell(nil)
        let interfaces = ((try? System.enumerateDevices()) ?? []).compactMap { interface in
          interface.multicastSupported ? interface.address.map { (interface.interfaceIndex, $0) } : nil
        }
        update(to: rules.announcements(of: entries, at: place, interfaces: interfaces), by: session)
      }
    } catch {
      tell(BywayError(error).message)
    }
  }

  private func update(to wanted: [DeviceName: Announcement], by session: AvahiSession) {
    for (name, entry) in published where wanted[name] != entry.announcement {
      if let publication = entry.state.publication { session.withdraw(publication) }
      published[name] = nil
    }
    for (name, announcement) in wanted {
      guard let state = published[name]?.state else {
        published[name] = Published(announcement: announcement, state: publish(announcement, by: session))
        continue
      }
      guard let publication = state.publication, publication.isRefused else { continue }
      session.withdraw(publication)
      published[name]?.state = next(after: state, of: announcement, name, by: session)
    }
  }

  private func publish(_ announcement: Announcement, by session: AvahiSession) -> Published.State {
    do { return .told(try session.publish(announcement)) } catch { return refuse(announcement, "\(error)") }
  }

  /// Publishes again after a conflict: another machine may have a device with that title.
  private func next(
    after state: Published.State, of announcement: Announcement, _ name: DeviceName, by session: AvahiSession
  ) -> Published.State {
    guard case .told = state else {
      return refuse(announcement, "This name is already used in the network.")
    }
    do {
      return .retitled(try session.publish(announcement.titled(apartFor: name)))
    } catch {
      return refuse(announcement, "\(error)")
    }
  }

  private func refuse(_ announcement: Announcement, _ reason: String) -> Published.State {
    logger.warning(
      "A device is not published in the network", metadata: ["host": "\(announcement.host)", "reason": "\(reason)"])
    return .refused
  }

  private func tell(_ unavailableReason: String?) {
    guard unavailableReason != self.unavailableReason else { return }
    self.unavailableReason = unavailableReason
    if let unavailableReason {
      logger.notice("Devices are not published in the network", metadata: ["reason": "\(unavailableReason)"])
    } else {
      logger.info("Devices are published in the network by Avahi")
    }
  }
}
