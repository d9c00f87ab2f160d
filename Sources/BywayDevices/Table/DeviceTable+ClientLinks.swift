package import Byway
package import BywayLineLayer

extension DeviceTable: ClientLinks {
  package var handler: any ExchangeHandler { DeviceRouter(self) }

  package func reports() async -> [LinkReport] {
    await entries().map { LinkReport($0.name, addresses: $0.addresses, isInbound: $0.isInbound, $0.status) }
  }

  package func lineStatistics() async -> LineStatistics? { await entries().first { $0.name == nil }?.status.line }
}
