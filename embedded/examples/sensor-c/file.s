@ The file of 200 KB. An update does not bring it again.
  .section .assets, "a"
  .incbin "file.bin"
