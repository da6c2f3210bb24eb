"use strict";
for (const hidden of document.querySelectorAll("[data-script]")) {
  hidden.hidden = false;
}
for (const button of document.querySelectorAll("button[data-copies]")) {
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copies);
    const said = button.nextElementSibling;
    try {
      await navigator.clipboard.writeText(source.textContent);
      said.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      said.textContent = "Selected: copy it with the keyboard";
    }
  });
}
const slider = document.getElementById("slider");
if (slider) {
  const panels = [...document.querySelectorAll("[data-epsilon]")];
  const show = () => {
    panels.forEach((panel, place) => { panel.hidden = place !== Number(slider.value); });
    const chosen = panels[Number(slider.value)].dataset.epsilon;
    slider.setAttribute("aria-valuetext", "epsilon " + chosen);
    document.getElementById("chosen").textContent = "ε = " + chosen;
  };
  slider.addEventListener("input", show);
  show();
}
