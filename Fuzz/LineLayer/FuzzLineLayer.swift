// The entry point of libFuzzer, compiled together with BywayLineLayer and Tests/LineLayerTests/Attack.swift: see run.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLineLayer(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var attack = Attack(UnsafeBufferPointer(start: start, count: count))
  attack.run()
  return 0
}
