// Tests of byway-hpack.js: the examples of RFC 7541, invalid blocks, and limits.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CompressionError, Decoder, encode } from "../../../Sources/BywayBrowserFiles/Site/byway-hpack.js";

const LIMIT = 100000;
const hex = (text) => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));
const decode = (text, decoder = new Decoder(), limit = LIMIT) => decoder.decode(hex(text), limit);
/** Fields as "name: value". */
const shown = (fields) => fields.map((field) => field.join(": "));
/** A string of less than 127 bytes without Huffman code, in hexadecimal digits. */
const plain = (text) => text.length.toString(16).padStart(2, "0") + Buffer.from(text, "latin1").toString("hex");

describe("the examples of RFC 7541", () => {
  const requests = [
    [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"],
    [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com", "cache-control: no-cache"],
    [":method: GET", ":scheme: https", ":path: /index.html", ":authority: www.example.com", "custom-key: custom-value"],
  ];
  const more = ["cache-control: private", "date: Mon, 21 Oct 2013 20:13:21 GMT", "location: https://www.example.com"];
  const responses = [
    [":status: 302", ...more],
    [":status: 307", ...more],
    [
      ":status: 200", "cache-control: private", "date: Mon, 21 Oct 2013 20:13:22 GMT", "location: https://www.example.com",
      "content-encoding: gzip", "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
    ],
  ];
  const examples = {
    "C.2, single fields": [
      ["400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", ["custom-key: custom-header"]],
      ["040c 2f73 616d 706c 652f 7061 7468", [":path: /sample/path"]],
      ["1008 7061 7373 776f 7264 0673 6563 7265 74", ["password: secret"]],
      ["82", [":method: GET"]],
    ],
    "C.3, requests": [
      ["8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", requests[0]],
      ["8286 84be 5808 6e6f 2d63 6163 6865", requests[1]],
      ["8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", requests[2]],
    ],
    "C.4, requests in Huffman code": [
      ["8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", requests[0]],
      ["8286 84be 5886 a8eb 1064 9cbf", requests[1]],
      ["8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", requests[2]],
    ],
    "C.5, responses with a table of 256 bytes": [
      ["3fe101", []],
      [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768" +
          "7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        responses[0],
      ],
      ["4803 3330 37c1 c0bf", responses[1]],
      [
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153" +
          "444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369" +
          "6f6e 3d31",
        responses[2],
      ],
    ],
    "C.6, responses in Huffman code with a table of 256 bytes": [
      ["3fe101", []],
      [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8" +
          "e9ae 82ae 43d3",
        responses[0],
      ],
      ["4883 640e ffc1 c0bf", responses[1]],
      [
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b" +
          "3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
        responses[2],
      ],
    ],
  };
  for (const [name, blocks] of Object.entries(examples)) {
    test(`an example of RFC 7541 is decoded: ${name}`, () => {
      const decoder = new Decoder();
      for (const [block, expected] of blocks) assert.deepEqual(shown(decode(block, decoder)), expected);
    });
  }
});

/** The bytes 0 to 255 in Huffman code. */
const ALL_BYTES =
  "ffc7fffd8fffffe2fffffe3fffffe4fffffe5fffffe6fffffe7fffffe8ffffeafffffff3fffffa7fffffabffffffdfffffebfffffecfffffedfffffeefff" +
  "ffefffffff0ffffff1ffffff2fffffffbfffffcffffffd3fffffd7fffffdbfffffdffffffe3fffffe7fffffebfffffed4fe3f9ffaffcabf1febfafefe7fd" +
  "fd2cbb00089969b71d79fb9f7fff20ffbff3ff50ddbd7f061c58f265cd9f469d5af66dddbf871e5f9cff7ff7fffc3ff9ffe45fff4719242cb34e6e9d68a6" +
  "a3d7dac426defe3cfaf7fffbfe7ffbffdffffffcfffe6ffff4bfff9ffffa3fffd3ffff53fffd5ffffb3fffeb7fffdaffffb7ffff73fffeeffffdeffffebf" +
  "fffbfffffd9ffffdbfffebffffe0ffffeeffffc3ffff8bffff1ffffe4fffee7fffb1ffff97fffd9ffffcdffff9fffffbffffdafffeeffff4ffffb7fffee7" +
  "fffe8ffffd3fffdeffffd5fffeeffffbdffffe1fffdfffff7fffff5ffffecffff07fff87fffe0ffff17fffedffff87ffff77fffeffffeaffff8bfffe3fff" +
  "f93ffff87fffcbffff37ffff1fffff83ffffe1fffebfffe3ffff3fffff2ffffa3ffffd9fffff17ffffc7fffff27ffffdefffffbffffff2fffff8fffffb7f" +
  "ff97fff8fffffe6fffffc1fffff87ffffe7fffffc5ffffe5fffe4ffff2fffffd1fffff4ffffffefffffe3fffffc9fffff97fffb3ffffcffffb7fffcdffff" +
  "4ffff9ffffd1ffffcffffeaffffafffffddffffeffffff4fffff5fffffabffffa7ffffd7fffff9bffffecfffffb7fffff3fffffe8fffffd3fffffabfffff" +
  "5fffffff7ffffecfffffdbfffffbbfffff7ffffff0fffffbbf";

test("all bytes are decoded from Huffman code", () => {
  // A literal without a name, and the length of 583 bytes.
  const [[, value]] = decode(`0000 ffc803 ${ALL_BYTES}`);
  assert.deepEqual([...Buffer.from(value, "latin1")], [...Array(256).keys()]);
});

test("a number has five bytes at most", () => {
  assert.deepEqual(decode("1f 80 80 80 00 01 61"), [["accept-charset", "a"]]);
});

test("the decoder accepts 7 bits of padding", () => {
  assert.deepEqual(decode("00 00 83 032cff"), [["", "033"]]);
});

test("the decoder has all entries of the static table", () => {
  const fields = decode([...Array(61).keys()].map((index) => (0x81 + index).toString(16)).join(""));
  assert.equal(fields.length, 61);
  for (const [index, field] of [[1, ":authority: "], [7, ":scheme: https"], [8, ":status: 200"], [14, ":status: 500"], [15, "accept-charset: "],
    [16, "accept-encoding: gzip, deflate"], [31, "content-type: "], [38, "host: "], [54, "server: "], [61, "www-authenticate: "]]) {
    assert.equal(shown(fields)[index - 1], field);
  }
});

describe("a block is refused", () => {
  const rows = {
    "with the index 0": "80",
    "with an index behind the static table": "be",
    "with an index behind the dynamic table": `40${plain("a")}${plain("b")} bf`,
    "with a name behind the tables": `7e${plain("b")}`,
    "with a number that is cut off": "ff",
    "with a number of six bytes": "ff 81 80 80 80 00",
    "with a number that has many zeros": "1f 80 80 80 80 00 01 61",
    "with a string of 256 MiB": "00 7f ff ff ff 7f 61",
    "with a name without a value": `40${plain("a")}`,
    "with a string longer than the block": "00 01 61 05 61",
    "with a string of 16 MiB": "00 7f 81 ff ff 07 61",
    "with a table above 4,096 bytes": "3f e2 1f",
    "with a change of the table behind a field": "82 20",
    "with the end of strings in Huffman code": `00${plain("a")} 84 ffffffff`,
    "with padding of 8 bits": `00${plain("a")} 82 fcff`,
    "with padding of 11 bits": `00${plain("a")} 82 1fff`,
    "with padding that has a zero": `00${plain("a")} 81 1e`,
    "with padding of zeros": `00${plain("a")} 81 18`,
  };
  for (const [name, block] of Object.entries(rows)) {
    test(`a block ${name} is refused`, () => {
      assert.throws(() => decode(block), (error) => error instanceof CompressionError && (!/a number (of|that has)/.test(name) || /too large/.test(error.message)));
    });
  }
});

describe("a table", () => {
  const stored = (name, value) => `40${plain(name)}${plain(value)}`;

  test("a dynamic table has the newest entry first, and drops the oldest at 4,096 bytes", () => {
    const decoder = new Decoder();
    // Each takes 1 + 95 + 32 bytes.
    for (let count = 0; count < 32; count++) decode(stored("a", String.fromCharCode(65 + count).repeat(95)), decoder);
    assert.equal(decode("be", decoder)[0][1][0], "`");
    assert.equal(decode("dd", decoder)[0][1][0], "A");
    assert.throws(() => decode("de", decoder), CompressionError);
    decode(stored("b", ""), decoder);
    assert.deepEqual(decode("be", decoder), [["b", ""]]);
    assert.equal(decode("dd", decoder)[0][1][0], "B");
    assert.throws(() => decode("de", decoder), CompressionError);
  });

  test("a dynamic table is empty after an entry that is larger", () => {
    const decoder = new Decoder();
    decode(stored("a", "b"), decoder);
    decode("3f 0a", decoder); // 41 bytes.
    decode("be", decoder);
    decode(stored("long-name", "x"), decoder);
    assert.throws(() => decode("be", decoder), CompressionError);
  });

  test("a dynamic table keeps an entry that fits exactly", () => {
    const decoder = new Decoder();
    decode("3f 03", decoder); // 34 bytes.
    decode(stored("a", "b"), decoder);
    assert.deepEqual(decode("be", decoder), [["a", "b"]]);
    assert.deepEqual(decode("3f 03 be", decoder), [["a", "b"]]);
    decode("3f 02", decoder);
    assert.throws(() => decode("be", decoder), CompressionError);
  });

  test("a dynamic table is emptied by a size of 0, and used again after a larger one", () => {
    const decoder = new Decoder();
    decode(stored("a", "b"), decoder);
    decode(`20 3f e1 1f ${stored("c", "d")}`, decoder);
    assert.deepEqual(decode("be", decoder), [["c", "d"]]);
    assert.throws(() => decode("bf", decoder), CompressionError);
  });

  test("a dynamic table stores no field that is marked as never stored", () => {
    const decoder = new Decoder();
    for (const kind of ["00", "10"]) decode(`${kind}${plain("a")}${plain("b")}`, decoder);
    assert.throws(() => decode("be", decoder), CompressionError);
  });

  test("a dynamic table gives the name of its own entry to a new one", () => {
    const decoder = new Decoder();
    decode(stored("a", "b"), decoder);
    assert.deepEqual(decode(`7e${plain("c")}`, decoder), [["a", "c"]]);
    assert.deepEqual(decode("be bf", decoder), [["a", "c"], ["a", "b"]]);
  });
});

test("a list above the limit gives no fields, and the table is up to date", () => {
  const decoder = new Decoder();
  assert.equal(decode("82", decoder, 42).length, 1);
  assert.equal(decode("82", decoder, 41), null);
  assert.equal(decode(`82 82 40${plain("a")}${plain("b")}`, decoder, 50), null);
  assert.deepEqual(decode("be", decoder), [["a", "b"]]);
  // A large entry, and 16 KiB that repeat it: 64 MB of fields.
  const large = new Uint8Array(4000).fill(97);
  decoder.decode(Uint8Array.of(0x40, 1, 98, 0x7f, 0xa1, 0x1e, ...large), LIMIT);
  assert.equal(decoder.decode(new Uint8Array(16384).fill(0xbe), 16384), null);
});

describe("the encoder", () => {
  test("the encoder writes fields that the decoder reads, and stores none", () => {
    const fields = [
      [":method", "GET"], [":method", "PUT"], [":scheme", "http"], [":path", "/"], [":path", "/a?b"], [":authority", "device"],
      ["accept-encoding", "gzip, deflate"], ["user-agent", ""], ["x-own", "\xff\x80"], ["authorization", "secret"], ["cookie", "a=b"],
      ...[125, 126, 127, 128, 254, 255, 256, 300, 16000].map((length) => ["x-long", "x".repeat(length)]),
      ["x".repeat(130), ""],
    ];
    const decoder = new Decoder();
    for (let count = 0; count < 2; count++) assert.deepEqual(decoder.decode(encode(fields), LIMIT), fields);
    assert.throws(() => decode("be", decoder), CompressionError);
  });

  test("the encoder uses the static table, empties the table of the peer, and marks secrets", () => {
    const bytes = (fields) => Buffer.from(encode(fields)).toString("hex");
    assert.equal(bytes([[":method", "GET"], [":path", "/"]]), "208284");
    assert.equal(bytes([["host", "a"]]), "200f170161");
    assert.equal(bytes([["authorization", "a"]]), "201f080161");
    assert.equal(bytes([["cookie", "a"]]), "201f110161");
    assert.equal(bytes([["b", "c"]]), "200001620163");
  });
});

test("5,000 random blocks give fields or a CompressionError", () => {
  let state = 1;
  const random = (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
  const starts = [0x82, 0x40, 0x00, 0x10, 0x20, 0x3f, 0xbe, 0x7e, 0x01, 0x61, 0x81, 0x85, 0xff];
  const decoders = [new Decoder(), new Decoder()];
  let count = 0;
  for (let round = 0; round < 5000; round++) {
    const block = Uint8Array.from({ length: random(40) }, () => (random(3) ? starts[random(starts.length)] : random(256)));
    const [one, other] = decoders.map((decoder) => {
      try {
        return decoder.decode(block, 200);
      } catch (error) {
        assert.ok(error instanceof CompressionError, error.stack);
        return "refused";
      }
    });
    assert.deepEqual(one, other);
    if (Array.isArray(one) && one.length > 1) count++;
  }
  assert.ok(count > 10, `${count}`);
});
