// What stands in the place of a secret: it is shown, and never sent or copied as if it were the secret.

/** What the proxy puts there, in paths and bodies. */
export const REDACTED = "[redacted]";
/** In place of a field's value, in a form: the proxy puts in what it was. */
export const HIDDEN = "••••••••";

/** The field that says how a body was compressed; it goes with what was. */
export const CODING = "content-encoding";

export const isRedacted = (text) => text.includes(REDACTED);

/** Whether a kept body is not here as it was: a secret in it was replaced, or, where that cannot be done, all of it withheld.
    One that still comes may be longer by now. */
export const isChanged = (facts, bytes) => facts !== undefined && (bytes.length < facts.kept || isRedacted(new TextDecoder().decode(bytes)));

/** Whether it came compressed and is shown without, because a secret in it was replaced. */
export const isRestored = (facts, fields) => facts !== undefined && facts.coding === undefined
  && (fields ?? []).some((field) => field.name.toLowerCase() === CODING && field.value?.toLowerCase() !== "identity");
