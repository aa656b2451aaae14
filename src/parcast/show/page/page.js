"use strict";
(() => {
  const save = (name, type, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const button = (text, label, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.setAttribute("aria-label", label);
    made.addEventListener("click", action);
    return made;
  };
  const tools = () => {
    const made = document.createElement("div");
    made.className = "tools";
    return made;
  };
  // As `guarded` of files/document.py: what a spreadsheet takes for a formula, unless a number.
  const FORMULA = /^(?:'+[=+\-@]|[=+\-@][\s\S])/;
  const NUMBER = /^(?:[+\-]?(?:[0-9][0-9,]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?(?: ?%)?)$/;
  const cell = (text) => {
    const plain = text.trim();
    const risky = FORMULA.test(plain) && !NUMBER.test(plain);
    return `"${(risky ? "'" : "") + plain.replaceAll('"', '""')}"`;
  };

  // Values of points: by the pointer, and with the arrow keys.
  const tell = (box, said) => {
    const svg = box.querySelector("svg");
    const points = [...svg.querySelectorAll("title")].map((x) => x.parentElement).slice(1);
    if (!points.length) return;
    const idle = "Point at the picture, or use the arrow keys, to see values.";
    said.textContent = idle;
    let at = -1;
    const show = (point) => {
      svg.querySelectorAll(".at").forEach((x) => x.classList.remove("at"));
      if (point) point.classList.add("at");
      said.textContent = point ? point.querySelector("title").textContent : idle;
    };
    points.forEach((point) => {
      point.setAttribute("data-at", "");
      point.addEventListener("pointerenter", () => show(point));
      point.addEventListener("pointerleave", () => show(null));
    });
    said.setAttribute("aria-live", "polite");
    box.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") { at = -1; show(null); }
      if (!step) return;
      event.preventDefault();
      at = (at + step + points.length) % points.length;
      show(points[at]);
    });
  };

  const equip = (part) => {
    part.querySelectorAll("table").forEach((table, i) => {
      const bar = tools();
      const rows = [...table.tBodies[0].rows];
      if (rows.length > 12) {
        const search = document.createElement("input");
        search.type = "search";
        search.placeholder = "Search rows";
        search.setAttribute("aria-label", "Search rows of this table");
        const found = document.createElement("span");
        found.setAttribute("role", "status");
        search.addEventListener("input", () => {
          const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
          let many = 0;
          rows.forEach((row) => {
            const text = row.textContent.toLowerCase();
            const fits = words.every((word) => text.includes(word));
            row.classList.toggle("hidden", !fits);
            many += fits;
          });
          found.textContent = words.length ? `${many} of ${rows.length} rows` : "";
        });
        const above = tools();
        above.append(search, found);
        table.parentElement.before(above);
      }
      table.parentElement.after(bar);
      bar.append(button("CSV", "Save this table as CSV", () => {
        const lines = [...table.rows].map((row) => [...row.cells].map((x) => cell(x.textContent)));
        save(`table-${i + 1}.csv`, "text/csv", lines.map((x) => x.join(",")).join("\n") + "\n");
      }));
    });

    part.querySelectorAll("figure").forEach((figure, i) => {
      const said = figure.querySelector("figcaption");
      const boxes = [...figure.querySelectorAll(".scroll")];
      const bar = tools();
      said.after(bar);
      bar.append(button("SVG", "Save this picture as SVG", () => {
        const copy = boxes.find((box) => box.offsetParent).querySelector("svg").cloneNode(true);
        const style = getComputedStyle(document.documentElement);
        const used = (text) => text.replace(/var\((--\w+)\)/g, (_, x) => style.getPropertyValue(x).trim());
        copy.setAttribute("style", used("background: var(--paper); color: var(--ink)"));
        save(`picture-${i + 1}.svg`, "image/svg+xml", used(new XMLSerializer().serializeToString(copy)));
      }));
      boxes.forEach((box) => tell(box, said));
    });
  };
  equip(document.querySelector("main"));
  document.addEventListener("answered", (event) => equip(event.target));

  // All that is folded is printed.
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not([open])").forEach((x) => {
      x.open = true;
      x.dataset.closed = "";
    });
  });
  addEventListener("afterprint", () => {
    document.querySelectorAll("details[data-closed]").forEach((x) => { x.open = false; });
  });
})();
