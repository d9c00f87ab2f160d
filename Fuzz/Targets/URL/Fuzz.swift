import FuzzSupport
import InterceptorChecks

/// The function that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzURL(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  fuzz(start, count, URLCheck.check)
}
