// A menu of buttons behind a summary. It closes after a choice, with Escape, and when the focus leaves it.

export function closing(menu) {
  const close = () => { menu.open = false; };
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    close();
    menu.firstElementChild.focus();
  });
  menu.addEventListener("focusout", (event) => { if (event.relatedTarget && !menu.contains(event.relatedTarget)) close(); });
  menu.addEventListener("click", (event) => { if (event.target.closest("button")) close(); });
  return menu;
}
