/// A Bluetooth controller of this machine, as the kernel describes it.
struct BluetoothController: Sendable, Hashable {
  let name: String
  let address: BluetoothAddress
  /// Whether it is switched on.
  let isUp: Bool
  /// Whether it answers devices that connect (page scan).
  let isConnectable: Bool

  func matches(_ controller: RFCOMMPlace.Controller?) -> Bool {
    switch controller {
    case .name(let name)?: name == self.name
    case .address(let address)?: address == self.address
    case nil: true
    }
  }
}
