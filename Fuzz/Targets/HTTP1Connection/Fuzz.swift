import FuzzSupport
import HTTP1Checks

/// The function that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTP1Connection(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  fuzz(start, count, ConnectionCheck.check)
}
