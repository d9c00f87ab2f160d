import FuzzSupport
import HTTP1Checks

/// What libFuzzer calls with each input that it has thought of.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTP1Connection(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  fuzz(start, count, ConnectionCheck.check)
}
