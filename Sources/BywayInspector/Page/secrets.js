// Placeholders of secrets: they are shown, and never sent or copied as if they were the secret.

/** The proxy's placeholder in paths and bodies. */
export const REDACTED = "[redacted]";
/** The placeholder of a field's value in a form: the proxy replaces it with the original value. */
export const HIDDEN = "••••••••";

/** The field with the coding of a compressed body; it belongs to the original body. */
export const CODING = "content-encoding";

export const isRedacted = (text) => text.includes(REDACTED);

/** Whether a kept body differs from the original: a secret in it was replaced, or, if that is not possible, all of it is withheld.
    One that still comes may be longer by now. */
export const isChanged = (facts, bytes) => facts !== undefined && (bytes.length < facts.kept || isRedacted(new TextDecoder().decode(bytes)));

/** Whether it was received compressed and is shown uncompressed, because a secret in it was replaced. */
export const isRestored = (facts, fields) => facts !== undefined && facts.coding === undefined
  && (fields ?? []).some((field) => field.name.toLowerCase() === CODING && field.value?.toLowerCase() !== "identity");
