// The colours of the page's style; the button that changes between light and dark.
'use strict';

page.themeListeners = [];

page.style = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

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
