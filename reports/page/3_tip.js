// The one box that tells about what is pointed at, for Vega's charts and the timeline.
'use strict';

page.tip = (() => {
  const box = document.createElement('div');
  box.className = 'tip';
  box.hidden = true;
  document.body.append(box);

  // `facts`: {label: value}; names from files are set as text, never as markup.
  const show = (facts, x, y) => {
    const list = document.createElement('dl');
    for (const [label, value] of Object.entries(facts)) {
      if (value === undefined || value === null || value === '') continue;
      const row = document.createElement('div');
      const term = document.createElement('dt');
      const detail = document.createElement('dd');
      term.textContent = label;
      detail.textContent = String(value);
      row.append(term, detail);
      list.append(row);
    }
    box.replaceChildren(list);
    box.hidden = false;
    const room = 12, width = box.offsetWidth, height = box.offsetHeight;
    box.style.left = Math.max(4, Math.min(x + room, innerWidth - width - 4)) + 'px';
    box.style.top = (y + room + height > innerHeight ? Math.max(4, y - room - height) : y + room) + 'px';
  };
  const hide = () => { box.hidden = true; };
  addEventListener('scroll', hide, {passive: true});
  addEventListener('keydown', (event) => { if (event.key === 'Escape') hide(); });
  return {show, hide};
})();
