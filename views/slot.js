// Draws one figure slot. `element`, `props`, `trigger` and `watch` come from Gradio's HTML component.
// Events: 'click' {key}, 'select' {keys}; keys are the points' customdata.
const INK = '#1b1f24', EDGE = '#ffffff';
const node = () => element.querySelector('.figure');
const css = name => getComputedStyle(document.body).getPropertyValue(name).trim();
const plain = text => new DOMParser().parseFromString(text || '', 'text/html').documentElement.textContent;
const REST = 300;  // milliseconds
let drawn = null, frame = null, moving = false, resting = 0;

// On a dark page the ink of lines, marks and text turns, and so do the light edges of points.
function inked(value, colors) {
  if (typeof value === 'string') return colors[value.toLowerCase()] || value;
  if (Array.isArray(value)) return value.map(each => inked(each, colors));
  if (!value || typeof value !== 'object') return value;
  for (const key of Object.keys(value)) if (key !== 'bdata') value[key] = inked(value[key], colors);
  return value;
}

function arranged(fig) {
  const ink = css('--body-text-color'), paper = css('--background-fill-primary');
  inked(fig, {[INK]: ink, [EDGE]: paper, '#eef1f4': css('--background-fill-secondary')});
  const layout = fig.layout;
  layout.paper_bgcolor = layout.plot_bgcolor = 'rgba(0,0,0,0)';
  layout.font = {...(layout.font || {}), color: ink};
  layout.hoverlabel = {bgcolor: paper, bordercolor: css('--border-color-primary'), font: {color: ink}};
  const removed = layout.template?.layout?.modebar?.remove || [];
  layout.modebar = {...(layout.modebar || {}), bgcolor: 'rgba(0,0,0,0)',
    color: css('--body-text-color-subdued'), activecolor: ink,
    remove: removed.filter(name => !fig.selects || name !== 'lasso2d')};
  if ((element.clientWidth || window.innerWidth) < 620 && layout.legend?.orientation === 'v') {
    layout.legend = {...layout.legend, orientation: 'h', x: 0, xanchor: 'left', y: 0,
      yref: 'container', yanchor: 'bottom'};
  }
  if (fig.frames?.length) steady(layout);
  return fig;
}

// Margins that follow the tick labels make a step from frame to frame three times slower.
function steady(layout) {
  for (const axes of [layout, layout.template?.layout || {}]) {
    for (const name of Object.keys(axes)) if (/^[xy]axis/.test(name)) axes[name].automargin = false;
  }
}

// The server has a new figure, which shows what the controls say.
function renew() {
  frame = null;
  clearTimeout(resting);
  return draw();
}

async function draw() {
  const place = node(), fig = props.value && JSON.parse(props.value);
  element.classList.toggle('gw-none', !fig);
  if (!place || !window.Plotly) return;
  if (!fig) { window.Plotly.purge(place); drawn = null; return; }
  arranged(fig);
  drawn = fig;
  place.style.height = fig.layout.height ? fig.layout.height + 'px' : '';
  place.setAttribute('role', 'img');
  place.setAttribute('aria-label', plain(fig.layout.meta?.title) || FIGURE_LABEL);
  element.querySelector('.gw-tag').hidden = !fig.preliminary;
  const heading = element.querySelector('h3');
  heading.textContent = plain(fig.layout.meta?.title);
  heading.hidden = !heading.textContent;
  await window.Plotly.react(place, {
    data: fig.data, layout: fig.layout, frames: fig.frames || [],
    config: {responsive: true, displaylogo: false, modeBarButtonsToRemove: ['sendChartToCloud'],
      toImageButtonOptions: {format: 'svg', filename: plain(fig.layout.meta?.title) || 'figure'}},
  });
  place.removeAllListeners('plotly_click');
  place.removeAllListeners('plotly_selected');
  place.on('plotly_click', e => {
    const key = e.points[0].customdata;
    if (key !== undefined) trigger('click', {key: String(key)});
  });
  place.on('plotly_selected', e => {
    const keys = (e?.points || []).map(p => p.customdata).filter(key => key !== undefined);
    if (fig.selects) trigger('select', {keys: [...new Set(keys.map(String))]});
  });
  place.dataset.frame = fig.at ?? '';
  if (frame !== null) await follow(frame);
  place.dataset.drawn = Number(place.dataset.drawn || 0) + 1;
}

// Frames come faster than they can be drawn: only the last one counts.
async function follow(value) {
  if (!(drawn.frames || []).some(each => each.name === value)) return;
  frame = value;
  if (moving) return;
  moving = true;
  try {
    while (drawn && node().dataset.frame !== frame) await move(frame);
  } finally {
    moving = false;
  }
}

// Points glide without a full redraw, which is several times faster; what only that one sees to
// (equal scales of both axes) follows when the control rests.
async function move(value) {
  const place = node(), step = drawn.frames.find(each => each.name === value);
  if (!step.traces?.length) await window.Plotly.relayout(place, {...step.layout, meta: drawn.layout.meta});
  else await animated(place, value, false);
  place.dataset.frame = value;
  const title = step.layout?.meta?.title;
  if (title) element.querySelector('h3').textContent = plain(title);
  clearTimeout(resting);
  if (step.traces?.length) resting = setTimeout(() => animated(place, value, true), REST);
}

function animated(place, value, redraw) {
  const jump = {mode: 'immediate', frame: {duration: 0, redraw}, transition: {duration: 0}};
  return window.Plotly.animate(place, [value], jump).catch(error => {
    if (error) throw error;  // Nothing is said where a later frame came in between.
  });
}

// A control moved: show the frame of its new value, if this figure follows it.
element.addEventListener('gw-follow', event => {
  if (drawn && drawn.follows === event.detail.control) follow(event.detail.value);
});

let pending = 0;
new ResizeObserver(() => {
  cancelAnimationFrame(pending);
  pending = requestAnimationFrame(() => {
    if (drawn && node()?.offsetParent) window.Plotly.Plots.resize(node());
  });
}).observe(element);
let dark = document.body.classList.contains('dark');
new MutationObserver(() => {
  const now = document.body.classList.contains('dark');
  if (now !== dark) { dark = now; draw(); }
}).observe(document.body, {attributes: true, attributeFilter: ['class']});
watch('value', renew);
draw();
