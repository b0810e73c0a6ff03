// Tables that sort by a press on a head, and a field that keeps the rows that hold its words.
'use strict';

page.valueOf = (cell) => cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.textContent;

page.compare = (a, b) => {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;  // what is not known goes last
  return a.localeCompare(b, undefined, {numeric: true});
};

page.sortBy = (table, column, descending) => {
  const body = table.tBodies[0];
  const sign = descending ? -1 : 1;
  const keyed = [...body.rows].map((row) => [page.valueOf(row.cells[column]), row]);
  keyed.sort(([a], [b]) => typeof a === typeof b ? sign * page.compare(a, b) : page.compare(a, b));
  body.append(...keyed.map(([, row]) => row));
  [...table.tHead.rows[0].cells].forEach((head, i) => {
    if (i === column) head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
    else head.removeAttribute('aria-sort');
  });
};

page.addFilter = (table) => {
  if (table.tBodies[0].rows.length < 6) return;
  const label = document.createElement('label');
  label.className = 'filter';
  const field = document.createElement('input');
  field.type = 'search';
  const told = document.createElement('output');
  label.append('Keep rows with ', field, told);
  table.parentElement.before(label);
  field.addEventListener('input', () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let kept = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) ++kept;
    }
    told.textContent = words.length ? `${kept} of ${table.tBodies[0].rows.length}` : '';
  });
};

page.startTables = () => {
  for (const table of document.querySelectorAll('table.sortable')) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.querySelector('button').addEventListener('click', () =>
        page.sortBy(table, column, head.getAttribute('aria-sort') === 'ascending'));
    });
    page.addFilter(table);
  }
};
