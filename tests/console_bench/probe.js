// Runs in the page before its scripts: records when the newest event was shown, and the time between frames.
(() => {
  const probe = { last: 0, frames: [], waiting: 0, isOn: false };
  window.probe = probe;
  let before = 0;
  const tick = (now) => {
    if (probe.isOn) {
      probe.frames.push(now - before);
      if (document.querySelector(".event.pending")) probe.waiting += 1;
    }
    before = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  probe.opened = new Promise((resolve) => {
    new MutationObserver((_, observer) => {
      if (!probe.last || !document.querySelector(`[data-seq="${probe.last}"]`)) return;
      observer.disconnect();
      requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
    }).observe(document, { childList: true, subtree: true });
  });
})();
