// The common parts of sessions of the line and their exchanges, for both versions of HTTP.

/** A session. It begins when it is made. A class adds `turn()`, which takes what has arrived, and sends what is owed. */
export class LineSession {
  #number;
  #isPumping = false;

  constructor(carrier) {
    this.carrier = carrier;
    this.#number = carrier.open();
  }

  get isOver() {
    return this.carrier.session !== this.#number;
  }

  /** Takes what has arrived, and sends what is owed. */
  pump() {
    if (this.#isPumping || this.carrier.sessionsBegun !== this.#number) return;
    this.#isPumping = true;
    try {
      this.turn();
    } finally {
      this.#isPumping = false;
    }
  }
}

/** An exchange on a session. */
export class Transfer {
  session = null;
  error = null;
  /** Whether the request was sent. */
  isSent = false;
  onprogress = () => {};
  onstop = () => {};

  /** @param open a function that returns the session, and begins one if there is none */
  constructor(carrier, open) {
    this.carrier = carrier;
    this.open = open;
  }

  /** Ends the exchange with an error. */
  stop(error) {
    if (this.error) return;
    this.error = error;
    this.onstop(error);
    this.carrier.turn();
  }
}

/** Passes the parts of a body on as they come. */
export async function readParts(body, take) {
  const reader = body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      if (!(value instanceof Uint8Array)) throw new TypeError("The body must be a stream of Uint8Array.");
      if (value.length > 0) await take(value);
    }
  } catch (error) {
    reader.cancel(error).catch(() => {});
    throw error;
  }
}
