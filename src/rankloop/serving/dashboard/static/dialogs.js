// Questions before something happens. Escape or Cancel leaves everything as it was.

import { el } from "./dom.js";

// content: nodes; act: what happens on the main button; an error of it stays in the dialog.
export function ask(title, content, button, act) {
  const wrong = el("p", { class: "wrong", role: "alert" });
  const main = el("button", { class: "main", type: "submit" }, button);
  const cancel = el("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  const form = el("form", { onsubmit: send }, el("h2", { id: "question" }, title), ...content, wrong,
    el("div", { class: "row" }, main, cancel));
  const dialog = el("dialog", { "aria-labelledby": "question", onclose: () => dialog.remove() }, form);
  document.body.append(dialog);
  dialog.showModal();

  async function send(event) {
    event.preventDefault();
    main.disabled = true;
    wrong.textContent = "";
    try {
      await act(form.elements);
      dialog.close();
    } catch (error) {
      wrong.textContent = error.message;
      main.disabled = false;
    }
  }
}

export const field = (label, input) => el("label", {}, label, input);
export const check = (name, words, value = "on", checked = false) => el("label", {}, el("input", { type: "checkbox", name, value, checked }), words);
export const reason = () => field("Reason, for people who read the journal later", el("input", { name: "reason", maxlength: 1000, autocomplete: "off" }));
export const facts = (...words) => el("ul", {}, words.map((sentence) => el("li", {}, sentence)));
