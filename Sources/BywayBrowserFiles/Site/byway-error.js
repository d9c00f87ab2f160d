/** An error of a connection to a device, with a code that programs can compare. */
export class BywayError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.name = "BywayError";
    this.code = code;
  }
}
