// Header compression of HTTP/2 (RFC 7541): a decoder with a dynamic table, and an encoder without one.

/** The largest dynamic table, which is the default of SETTINGS_HEADER_TABLE_SIZE. */
const TABLE_SIZE = 4096;
/** The size of a field in the table and in a list, besides its bytes. */
const OVERHEAD = 32;
/** The bytes of a number behind the first one: it is below 2^28 then. */
const MOST_BYTES = 4;

/** Appendix A. Each entry is a name, and a value behind a space. */
const STATIC = (
  ":authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|:scheme https|:status 200|:status 204|:status 206|" +
  ":status 304|:status 400|:status 404|:status 500|accept-charset|accept-encoding gzip, deflate|accept-language|accept-ranges|accept|" +
  "access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|content-encoding|content-language|" +
  "content-length|content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|" +
  "if-none-match|if-range|if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|" +
  "referer|refresh|retry-after|server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate"
)
  .split("|")
  .map((entry) => {
    const [name, ...value] = entry.split(" ");
    return [name, value.join(" ")];
  });

/** Appendix B: the length of each symbol's code as a digit of base 36. Codes of one length are numbered in the order of the symbols. */
const LENGTHS =
  "dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad67777777777777777777777878djde6f56565666577666567655677777fbeds" +
  "kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmnqqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu";
const END_OF_STRING = 256;
const LONGEST_CODE = 30;

/** By length: the first code, and the symbols in the order of their codes. */
const CODES = [];
for (let length = 0, first = 0; length <= LONGEST_CODE; length++) {
  const symbols = [...LENGTHS].flatMap((digit, symbol) => (parseInt(digit, 36) === length ? [symbol] : []));
  CODES.push({ first, symbols });
  first = (first + symbols.length) * 2;
}

/** A fault of compressed fields. The connection cannot go on, because the tables of its ends may differ. */
export class CompressionError extends Error {}

/** Returns the text of a string in Huffman code, a letter for each byte. */
function huffman(bytes) {
  let text = "";
  let code = 0;
  let length = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + ((byte >> bit) & 1);
      length++;
      const { first, symbols } = CODES[length];
      const symbol = symbols[code - first];
      if (symbol === END_OF_STRING) throw new CompressionError("a string contains the end of strings");
      if (symbol === undefined) continue;
      text += String.fromCharCode(symbol);
      code = length = 0;
    }
  }
  // The rest is the beginning of the end of strings, which is all ones.
  if (length > 7 || code !== 2 ** length - 1) throw new CompressionError("a string has an invalid end");
  return text;
}

function sizeOf([name, value]) {
  return name.length + value.length + OVERHEAD;
}

/** The fields that a peer sends. Blocks must be decoded in the order of their arrival. */
export class Decoder {
  #table = [];
  #size = 0;
  #limit = TABLE_SIZE;
  #bytes;
  #at;

  /**
   * Returns the fields of a block, or null if they are larger than the limit. The table is up to date in both cases.
   * @param limit the largest sum of the bytes of all names and values, and 32 for each field
   */
  decode(block, limit) {
    this.#bytes = block;
    this.#at = 0;
    let fields = [];
    for (let size = 0; this.#at < block.length; ) {
      const byte = block[this.#at];
      if ((byte & 0xe0) === 0x20) {
        if (size > 0) throw new CompressionError("the size of the table changes behind a field");
        this.#resize(this.#integer(5));
        continue;
      }
      const field = byte & 0x80 ? this.#entry(this.#integer(7)) : this.#literal(byte & 0x40 ? 6 : 4);
      if (byte >> 6 === 1) this.#add(field);
      size += sizeOf(field);
      // Many bytes of fields can be one byte of a block, so those beyond the limit are not kept.
      if (size > limit) fields = null;
      fields?.push(field);
    }
    return fields;
  }

  #resize(limit) {
    if (limit > TABLE_SIZE) throw new CompressionError("the table is larger than announced");
    this.#limit = limit;
    this.#evict(0);
  }

  #entry(index) {
    const entry = index <= STATIC.length ? STATIC[index - 1] : this.#table[index - STATIC.length - 1];
    if (!entry) throw new CompressionError(`there is no entry ${index} in the table`);
    return entry;
  }

  #literal(bits) {
    const index = this.#integer(bits);
    const name = index === 0 ? this.#string() : this.#entry(index)[0];
    return [name, this.#string()];
  }

  #add(field) {
    const size = sizeOf(field);
    this.#evict(size);
    if (size > this.#limit) return;
    this.#table.unshift(field);
    this.#size += size;
  }

  /** Makes room for an entry. */
  #evict(size) {
    while (this.#table.length > 0 && this.#size + size > this.#limit) this.#size -= sizeOf(this.#table.pop());
  }

  #byte() {
    if (this.#at >= this.#bytes.length) throw new CompressionError("the fields are cut off");
    return this.#bytes[this.#at++];
  }

  /** Section 5.1. */
  #integer(bits) {
    const mask = (1 << bits) - 1;
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let count = 0; count < MOST_BYTES; count++) {
      const byte = this.#byte();
      value += (byte & 127) << (7 * count);
      if (byte < 128) return value;
    }
    throw new CompressionError("a number is too large");
  }

  #string() {
    const isCoded = this.#bytes[this.#at] & 0x80;
    const length = this.#integer(7);
    const part = this.#bytes.subarray(this.#at, this.#at + length);
    if (part.length < length) throw new CompressionError("a string is cut off");
    this.#at += length;
    if (isCoded) return huffman(part);
    let text = "";
    for (const byte of part) text += String.fromCharCode(byte);
    return text;
  }
}

function integer(bytes, value, bits, flags) {
  const mask = (1 << bits) - 1;
  if (value < mask) {
    bytes.push(flags | value);
    return;
  }
  bytes.push(flags | mask);
  for (value -= mask; value >= 128; value >>= 7) bytes.push((value & 127) | 128);
  bytes.push(value);
}

function string(bytes, text) {
  integer(bytes, text.length, 7, 0);
  for (let at = 0; at < text.length; at++) bytes.push(text.charCodeAt(at));
}

/** Returns a block with the fields, of which the peer stores none. Each letter of them is a byte. */
export function encode(fields) {
  // The peer may have chosen a smaller table than its default. A table of 0 is always allowed (section 4.2).
  const bytes = [0x20];
  for (const [name, value] of fields) {
    const whole = STATIC.findIndex((entry) => entry[0] === name && entry[1] === value && value !== "");
    if (whole >= 0) {
      integer(bytes, whole + 1, 7, 0x80);
      continue;
    }
    // Intermediaries do not store secrets either (section 7.1.3).
    const flags = name === "authorization" || name === "cookie" ? 0x10 : 0;
    const index = STATIC.findIndex((entry) => entry[0] === name) + 1;
    integer(bytes, index, 4, flags);
    if (index === 0) string(bytes, name);
    string(bytes, value);
  }
  return Uint8Array.from(bytes);
}
