import FuzzSupport
import WebSocketChecks

/// The function that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWebSocket(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  fuzz(start, count, WebSocketCheck.check)
}
