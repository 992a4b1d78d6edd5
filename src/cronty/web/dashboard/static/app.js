// Live updates, keyboard shortcuts and small conveniences.
(() => {
  "use strict";
  // Where the dashboard is mounted in another application.
  const prefix = document.documentElement.dataset.prefix ?? "";
  const each = (selector, act, root = document) => root.querySelectorAll(selector).forEach(act);

  // -- live regions ---------------------------------------------------------------------------------------------------

  // Milliseconds between two refreshes; longer where a refresh takes long, so that it never loads the server.
  let pause = 1500;
  let stale = false;
  let last = 0;
  let timer = 0;

  const busy = (region) =>
    document.hidden ||
    region.contains(document.activeElement) ||
    region.querySelector("details[open], [data-more]") !== null;

  const refresh = () => {
    timer = 0;
    const region = document.querySelector("[data-live]");
    if (!region || !stale) return;
    if (busy(region)) return;
    stale = false;
    last = Date.now();
    htmx.trigger(region, "live");
  };

  const soon = () => {
    stale = true;
    if (!timer) timer = setTimeout(refresh, Math.max(0, last + pause - Date.now()));
  };

  const concerns = (region, ids) => region.dataset.live === "all" || ids.includes(Number(region.dataset.live));

  const listen = () => {
    if (!document.querySelector("[data-live]") || !window.EventSource) return;
    const events = new EventSource(`${prefix}/live`);
    events.addEventListener("changed", (event) => {
      const region = document.querySelector("[data-live]");
      if (region && concerns(region, JSON.parse(event.data).jobs)) soon();
    });
    window.addEventListener("pagehide", () => events.close());
    // "5 minutes ago" changes without an event.
    setInterval(soon, 30000);
    document.addEventListener("visibilitychange", () => stale && refresh());
    document.addEventListener("focusout", () => stale && !timer && setTimeout(refresh, 50));
  };

  // -- drawings that are wider than the screen ------------------------------------------------------------------------

  const kept = new Map();

  const place = (root) =>
    each("[data-scroll]", (box) => {
      const name = box.dataset.keep;
      const at = (Number(box.dataset.scroll) / 100) * box.scrollWidth;
      box.scrollLeft = kept.has(name) ? kept.get(name) : at - box.clientWidth * 0.55;
      box.addEventListener("scroll", () => kept.set(name, box.scrollLeft), { passive: true });
    }, root);

  // -- keys -----------------------------------------------------------------------------------------------------------

  const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;
  let going = 0;

  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const dialog = document.getElementById("keys");
    if (!dialog || dialog.open) return;
    if (Date.now() - going < 1200) {
      going = 0;
      const link = document.querySelector(`nav [data-key="${CSS.escape(event.key)}"]`);
      if (link) link.click();
    } else if (event.key === "g") {
      going = Date.now();
    } else if (event.key === "/") {
      event.preventDefault();
      const search = document.querySelector("[data-search]");
      if (search) search.focus();
      else window.location.assign(`${prefix}/jobs#search`);
    } else if (event.key === "?") {
      dialog.showModal();
    } else if (event.key === "c") {
      window.location.assign(`${prefix}/jobs/new`);
    } else {
      const arrow = document.querySelector(`[data-arrow="${CSS.escape(event.key)}"]`);
      if (arrow && !event.target.closest("[tabindex='0']")) arrow.click();
    }
  };

  // -- clicks ---------------------------------------------------------------------------------------------------------

  const click = (event) => {
    const target = event.target;
    if (target.closest("[data-keys]")) document.getElementById("keys").showModal();
    const copy = target.closest("[data-copy]");
    if (copy) {
      const field = document.querySelector(copy.dataset.copy);
      field.select();
      navigator.clipboard?.writeText(field.value).then(() => (copy.textContent = "Copied"));
    }
    const reading = target.closest("[data-reading]");
    const when = document.getElementById("f-when");
    if (reading && when) {
      event.preventDefault();
      when.value = reading.dataset.reading;
      when.dispatchEvent(new Event("input", { bubbles: true }));
      when.focus();
    }
    each("details.menu[open]", (menu) => menu.contains(target) || menu.removeAttribute("open"));
  };

  const change = (event) => {
    const all = event.target.closest("[data-all]");
    if (!all) return;
    const within = all.closest("[data-group]") ?? all.form;
    each(`input[name="${all.dataset.all}"], [data-group] [data-all]`, (box) => (box.checked = all.checked), within);
  };

  // -- time zone ------------------------------------------------------------------------------------------------------

  // Said once by each browser; the server takes it if nobody has set a zone yet.
  const tellZone = () => {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (!("signedIn" in document.body.dataset) || !zone || localStorage.getItem("zone") === zone) return;
    const headers = JSON.parse(document.body.getAttribute("hx-headers"));
    fetch(`${prefix}/settings/zone/suggest`, { method: "POST", headers, body: new URLSearchParams({ zone }) }).then((answer) => {
      if (answer.ok || answer.status === 403) localStorage.setItem("zone", zone);
      if (answer.status === 201) window.location.reload();
    });
  };

  document.addEventListener("keydown", press);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") each("details.menu[open]", (menu) => menu.removeAttribute("open"));
  });
  document.addEventListener("click", click);
  document.addEventListener("change", change);
  document.addEventListener("htmx:beforeRequest", (event) => {
    const region = document.querySelector("[data-live]");
    // Keep rows that the user asked for: no live refresh after "Show more" or a choice of verdict.
    if (!region || !event.detail.elt.closest(".more, [name=verdict]")) return;
    htmx.trigger(region, "htmx:abort");
    region.firstElementChild?.setAttribute("data-more", "");
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    place(event.detail.elt.parentNode || document);
    if (event.detail.target.id === "live") pause = Math.max(1500, 4 * (Date.now() - last));
  });
  document.addEventListener("DOMContentLoaded", () => {
    place(document);
    listen();
    tellZone();
    document.querySelector("[aria-invalid]")?.focus();
    if (window.location.hash === "#search") document.querySelector("[data-search]")?.focus();
  });
})();
