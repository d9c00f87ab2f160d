package import BywayLineLayer
package import NIOCore

extension OpenDevice: ClientLinks {
  package var handler: any ExchangeHandler { upstream }

  package func ping(_ device: DeviceName?) async throws -> TimeAmount {
    if let device {
      throw BywayError(
        .misdirected, "No device is called \"\(device)\": this client has one device, without a name.",
        processing: .none)
    }
    return try await eventLoop.flatSubmit { self.upstream.ping() }.get()
  }

  package func reports() async -> [LinkReport] {
    await status().map { [LinkReport(nil, addresses: addresses, isInbound: isInbound, $0)] } ?? []
  }

  package func lineStatistics() async -> LineStatistics? { await status()?.line }

  private func status() async -> UpstreamStatus? { try? await eventLoop.submit { self.upstream.status }.get() }
}
