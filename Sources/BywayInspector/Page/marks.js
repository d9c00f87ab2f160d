// Foreign text in an editor: invisible characters, and marks that reverse the text around them, become visible and can be edited.

import { UNSEEN } from "./format.js";

const mark = (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** The text with marks such as `⟨U+202E⟩` in place of such characters. */
export const visible = (text) => text.replaceAll(/⟨(?=U\+[0-9A-F]{4,6}⟩)/g, mark).replace(UNSEEN, mark);

/** The reverse of `visible`. */
export const restored = (text) => text.replaceAll(/⟨U\+([0-9A-F]{4,6})⟩/g, (whole, code) => {
  const number = parseInt(code, 16);
  return number <= 0x10ffff ? String.fromCodePoint(number) : whole;
});

/** A text for a text area, which has only LF as line break: `{shown, text(edited)}`, where `text` returns the edited text with the line breaks of the original. */
export function editable(text) {
  const isOfCRLF = /\r\n/.test(text) && !/(^|[^\r])\n|\r(?!\n)/.test(text);
  return {
    shown: visible(isOfCRLF ? text.replaceAll("\r\n", "\n") : text),
    text: (edited) => {
      const whole = restored(edited);
      return isOfCRLF ? whole.replaceAll("\n", "\r\n") : whole;
    },
  };
}
