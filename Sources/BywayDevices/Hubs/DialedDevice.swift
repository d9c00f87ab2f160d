import Byway
import NIOCore

/// A device whose gateways dial a hub, and claim its name. Lives on its event loop.
struct DialedDevice {
  enum Kind {
    /// Gateways with HTTP/2.
    case gateways(HTTP2Upstream)
    /// Boards with HTTP/1.1 on a line.
    case boards(BoardGroup)
  }

  let kind: Kind
  /// Whether its gateways have shown certificates with its name.
  let isCertified: Bool
  /// The bound address that they dial.
  let hub: LinkAddress

  var hasBoards: Bool {
    if case .boards = kind { true } else { false }
  }

  var upstream: any Upstream {
    switch kind {
    case .gateways(let upstream): upstream
    case .boards(let board): board.upstream
    }
  }

  var status: UpstreamStatus {
    switch kind {
    case .gateways(let upstream): upstream.status
    case .boards(let board): board.status
    }
  }

  var title: String? {
    switch kind {
    case .gateways(let upstream): upstream.title
    case .boards: nil
    }
  }

  /// A new number whenever another gateway may be behind it.
  var incarnation: UInt64 {
    switch kind {
    case .gateways(let upstream): upstream.incarnation
    case .boards(let board): board.incarnation
    }
  }

  /// Puts the settings of a new configuration into effect.
  func change(patience: TimeAmount, sharing: GatewaySharing) {
    switch kind {
    case .gateways(let upstream):
      upstream.patience = patience
      upstream.sharing = sharing
    case .boards(let board): board.upstream.patience = patience
    }
  }

  func retire() {
    switch kind {
    case .gateways(let upstream): upstream.retire()
    case .boards(let board): board.retire()
    }
  }
}
