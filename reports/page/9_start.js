// Last: everything is there.
'use strict';

page.startTheme();
page.startTables();
page.timelines = [...document.querySelectorAll('figure[data-timeline]')].map((figure) => new page.Timeline(figure));
page.startCharts();
// A chart's figures are read on paper, too, where they are short.
addEventListener('beforeprint', () => { for (const timeline of page.timelines) timeline.paintNow(); });
