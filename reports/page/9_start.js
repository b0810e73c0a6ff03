// Last: everything is there.
'use strict';

page.startTheme();
page.startTables();
page.timelines = [...document.querySelectorAll('figure[data-timeline]')].map((figure) => new page.Timeline(figure));
page.startCharts();
// Paper shows the timeline as it is zoomed now; the theme has just become light.
addEventListener('beforeprint', () => { for (const timeline of page.timelines) timeline.paintNow(); });
