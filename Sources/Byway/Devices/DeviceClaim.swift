package import Primitives

/// What a device says of itself at `/.well-known/byway`, a JSON object. Nobody has verified it: it is shown as text, and a name is taken
/// only where it is nobody else's.
package struct DeviceClaim: Sendable, Hashable {
  package static let path: StaticString = "/.well-known/byway"
  /// No more is read of it.
  package static let maximumBytes = 16 << 10

  /// `nil` where it claims none, or one that is not a device's name.
  package var name: DeviceName?
  package var title: DeviceText?
  /// Of the Byway there.
  package var version: DeviceText?
  /// Which protocol requests are for: `http`.
  package var serves: DeviceText?

  package init(
    name: DeviceName?, title: DeviceText? = nil, version: DeviceText? = DeviceText(Release.version),
    serves: DeviceText? = DeviceText("http")
  ) {
    self.name = name
    self.title = title
    self.version = version
    self.serves = serves
  }

  /// Reads what a device has answered; what cannot be used of it is left out. `nil` where it is no claim at all.
  package init?(reading bytes: some Collection<UInt8>) {
    guard bytes.count <= Self.maximumBytes, let text = String(validating: bytes, as: UTF8.self),
      let json = JSON(parsing: text), case .object = json
    else { return nil }
    func shown(_ member: String) -> DeviceText? { json[member]?.text.flatMap { DeviceText(claimed: $0) } }
    // Browsers would show other characters in place of an encoded one, perhaps those of a name that people trust.
    let name = json["name"]?.text.flatMap { DeviceName($0) }.flatMap { $0.isEncoded ? nil : $0 }
    self.init(name: name, title: shown("title"), version: shown("version"), serves: shown("serves"))
  }

  package var json: JSON {
    [
      "name": name.map { .string($0.text) }, "title": title.map { .string($0.text) },
      "version": version.map { .string($0.text) }, "serves": serves.map { .string($0.text) },
    ]
  }
}
