// The border between the list and the detail: dragged, or moved with the arrow keys.

const STORED = "byway-split";

export class Splitter {
  constructor(divider, frame, moved) {
    Object.assign(this, { divider, frame, moved });
    this.set(Number(sessionStorage.getItem(STORED)) || 52);
    divider.addEventListener("pointerdown", (event) => {
      divider.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    divider.addEventListener("pointermove", (event) => {
      if (!divider.hasPointerCapture(event.pointerId)) return;
      const box = frame.getBoundingClientRect();
      this.set(((event.clientX - box.left) * 100) / box.width);
    });
    divider.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      this.set(this.share + step);
    });
  }

  set(share) {
    this.share = Math.min(80, Math.max(20, share));
    this.frame.style.setProperty("--list", `${this.share}%`);
    this.divider.setAttribute("aria-valuenow", Math.round(this.share));
    sessionStorage.setItem(STORED, this.share);
    this.moved();
  }
}
