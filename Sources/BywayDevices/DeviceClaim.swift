package import Byway
package import BywayPrimitives

/// The description that a device gives of itself at `/.well-known/byway`, a JSON object. It is not verified: it is shown as text, and a
/// name is used only if no other device has it.
package struct DeviceClaim: Sendable, Hashable {
  package static let path: StaticString = "/.well-known/byway"
  /// The maximum size that is read.
  package static let maximumBytes = 16 << 10

  package var claimed: ClaimedName
  /// `nil` if it claims no name, or an unusable one.
  package var name: DeviceName? { claimed.name }
  package var title: DeviceText?
  /// The version of Byway on the device.
  package var version: DeviceText?
  /// The protocol that the device serves: `http`.
  package var serves: DeviceText?

  package init(
    name: DeviceName?, title: DeviceText? = nil, version: DeviceText? = DeviceText(Release.version),
    serves: DeviceText? = DeviceText("http")
  ) {
    claimed = name.map { .usable($0) } ?? .none
    self.title = title
    self.version = version
    self.serves = serves
  }

  /// Parses a device's answer, without unusable parts. Returns `nil` if it is not a claim at all.
  package init?(reading bytes: some Collection<UInt8>) {
    guard bytes.count <= Self.maximumBytes, let text = String(validating: bytes, as: UTF8.self),
      let json = JSON(parsing: text), case .object = json
    else { return nil }
    func shown(_ member: String) -> DeviceText? { json[member]?.text.flatMap { DeviceText(claimed: $0) } }
    self.init(name: nil, title: shown("title"), version: shown("version"), serves: shown("serves"))
    claimed = ClaimedName(reading: json["name"]?.text)
  }

  package var json: JSON {
    [
      "name": claimed.text.map { .string($0) }, "title": title.map { .string($0.text) },
      "version": version.map { .string($0.text) }, "serves": serves.map { .string($0.text) },
    ]
  }
}
