// Colours of charts, from the page's style; the button that changes between light and dark.
'use strict';

const page = {themeListeners: []};

page.style = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

// What has a colour of its own wherever it is drawn; anything else takes its turn among the series' colours.
page.colourNames = {
  compute: 'blue', forward: 'blue', backward: 'teal', recompute: 'violet', optimizer: 'purple',
  tp: 'orange', communication: 'orange', cp: 'brown', ep: 'pink', etp: 'pink', dp: 'gold', shard: 'gold', gather: 'gold',
  replicate: 'gold', 'expert dp': 'brown', pp: 'green', embedding: 'green', vocabulary: 'green', model: 'grey',
  bubble: 'idle', idle: 'idle', host: 'grey', offload: 'brown', copy: 'brown', storage: 'grey', total: 'ink',
  parameters: 'blue', gradients: 'teal', activations: 'gold', logits: 'pink', workspace: 'violet', 'kv cache': 'green',
  reserved: 'grey',
  fits: 'blue', front: 'orange', 'shown above': 'blue', 'does not fit': 'red', refused: 'grey',
  recommended: 'green', 'will do': 'blue', 'too late': 'red', 'too dear': 'orange', 'too late, too dear': 'grey',
  'lost work': 'red', down: 'orange', checkpoints: 'blue', stragglers: 'violet',
  predicted: 'orange', measured: 'blue', datasheet: 'teal', assumed: 'orange', stated: 'grey',
};
page.seriesNames = ['blue', 'orange', 'teal', 'pink', 'gold', 'purple', 'green', 'brown', 'violet', 'grey'];
page.coloursOf = (kinds) => {
  let turn = 0;
  return kinds.map((kind) => page.style(page.colourNames[kind] ?? page.seriesNames[turn++ % page.seriesNames.length]));
};

page.setTheme = (theme) => {
  document.documentElement.dataset.theme = theme;
  const button = document.getElementById('theme');
  button.textContent = theme === 'dark' ? 'Light' : 'Dark';
  button.setAttribute('aria-label', 'Change to the ' + (theme === 'dark' ? 'light' : 'dark') + ' theme');
  for (const listener of page.themeListeners) listener();
};

page.startTheme = () => {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const button = document.getElementById('theme');
  button.hidden = false;
  button.addEventListener('click', () => page.setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'));
  system.addEventListener('change', () => page.setTheme(system.matches ? 'dark' : 'light'));
  page.setTheme(system.matches ? 'dark' : 'light');
  let before = null;  // paper is white
  addEventListener('beforeprint', () => { before = document.documentElement.dataset.theme; page.setTheme('light'); });
  addEventListener('afterprint', () => { if (before) page.setTheme(before); before = null; });
};
