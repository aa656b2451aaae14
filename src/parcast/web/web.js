"use strict";
(() => {
  const form = document.getElementById("question");
  const panels = [...document.querySelectorAll("[data-panel]")];
  const PAUSE = 400; // until slow answers are asked for, after the last change [ms]

  const query = () => {
    const every = [...document.querySelectorAll(".files input[type=checkbox]")].every((x) => x.checked);
    const pairs = [...new FormData(form)].filter(([key, value]) =>
      !["", "view"].includes(key) && value !== "" && !(key === "file" && every)
      && !(key.startsWith("x.") && Number(value) === 0));
    return new URLSearchParams(pairs).toString();
  };

  // One request of a panel at a time; what changes meanwhile is asked when it is back.
  const asked = new Map();
  const ask = async (panel) => {
    const state = asked.get(panel) || {};
    asked.set(panel, state);
    state.wanted = query();
    if (state.busy) return;
    state.busy = true;
    const said = panel.querySelector(".state");
    panel.classList.add("is-old");
    panel.setAttribute("aria-busy", "true");
    while (state.wanted !== state.shown) {
      const wanted = state.wanted;
      try {
        const answer = await fetch(`panel/${panel.dataset.panel}?${wanted}`);
        const text = await answer.text();
        if (!answer.ok) throw new Error(text);
        show(panel, text);
        said.textContent = isNew(panel) ? "A file was replaced elsewhere. Reload the page." : "";
      } catch (failure) {
        const isAnswer = !(failure instanceof TypeError);
        said.textContent = isAnswer ? failure.message : "The server does not answer. Is it still running?";
        break; // what stands below is dimmed: it is of another question
      }
      state.shown = wanted;
    }
    state.busy = false;
    panel.classList.toggle("is-old", state.wanted !== state.shown);
    panel.removeAttribute("aria-busy");
  };

  // Whether an answer is of other files than the page has amounts of.
  const isNew = (panel) => form.querySelector(".amount") && !query().includes("file=")
    && panel.querySelector(".given").dataset.version !== document.getElementById("answers").dataset.version;

  const show = (panel, html) => {
    const content = panel.querySelector(".content");
    content.innerHTML = html;
    content.dispatchEvent(new Event("answered", { bubbles: true }));
    const given = content.querySelector("[data-set]");
    if (given && "quick" in panel.dataset) mark(JSON.parse(given.dataset.set));
  };

  // What the amounts are now, beside their sliders.
  const mark = (amounts) => {
    document.querySelectorAll(".amount").forEach((box) => {
      const now = amounts[box.dataset.name] || "";
      const slider = box.querySelector("input[type=range]");
      const factor = `times ${Number((2 ** slider.value).toPrecision(3))}`;
      slider.setAttribute("aria-valuetext", factor);
      box.querySelector("output").textContent = now && slider.value !== "0" ? `${now} (${factor})` : now;
      box.classList.toggle("changed", now !== "");
    });
  };

  // An amount that is set can be reset.
  const markSet = () => document.querySelectorAll(".amount").forEach((box) => {
    const [text, slider] = box.querySelectorAll("input");
    box.classList.toggle("set", text.value !== "" || Number(slider.value) !== 0);
  });
  const reset = (event) => {
    event.preventDefault();
    const [text, slider] = event.target.closest(".amount").querySelectorAll("input");
    text.value = "";
    slider.value = 0;
    slider.focus(); // the link goes
    change(event);
  };

  let pause = 0;
  const change = (event) => {
    markSet();
    const address = `./?${query()}`;
    if (event.type === "input") history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    document.querySelectorAll("input[name=back]").forEach((x) => { x.value = query(); });
    panels.filter((x) => "quick" in x.dataset).forEach(ask);
    clearTimeout(pause);
    pause = setTimeout(() => panels.filter((x) => !("quick" in x.dataset)).forEach(ask), PAUSE);
  };

  if (form && panels.length) {
    form.addEventListener("submit", (event) => { event.preventDefault(); change(event); });
    document.querySelectorAll(".amount input[type=range]").forEach((x) => x.addEventListener("input", change));
    form.addEventListener("change", change);
    document.querySelectorAll(".amount .reset").forEach((x) => x.addEventListener("click", reset));
    addEventListener("popstate", () => location.reload());
    document.querySelectorAll(".files input[type=checkbox]").forEach((x) => x.addEventListener("change", () => {
      location.search = query();
    }));
    panels.filter((x) => !x.querySelector(".given")).forEach(ask);
  }

  // Files are dropped anywhere on the page.
  const drop = document.querySelector(".drop");
  const files = drop.querySelector("input[type=file]");
  files.addEventListener("change", () => drop.submit());
  addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  addEventListener("dragleave", () => drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    files.files = event.dataTransfer.files;
    drop.submit();
  });
})();
