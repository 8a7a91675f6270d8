// Draws one figure slot. `element`, `props`, `trigger` and `watch` come from Gradio's HTML component.
// Events: 'click' {key}, 'select' {keys}; keys are the points' customdata.
const INK = '#1b1f24', EDGE = '#ffffff';
const node = () => element.querySelector('.figure');
const css = name => getComputedStyle(document.body).getPropertyValue(name).trim();
const plain = text => new DOMParser().parseFromString(text || '', 'text/html').documentElement.textContent;
let drawn = null, frame = null, last = Promise.resolve();

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
function renew() { frame = null; draw(); }

// plotly.js takes a second or two to start, so the form comes first.
function library() {
  window.gwPlotly ??= new Promise((resolve, reject) => setTimeout(() => {
    const script = document.createElement('script');
    Object.assign(script, {src: LIBRARY, onload: resolve, onerror: reject});
    document.head.append(script);
  }, 50));
  return window.gwPlotly;
}

// One thing at a time: plotly.js loses frames when a figure is drawn while another is.
function queued(work) {
  last = last.then(work).catch(error => console.error(error));
}
function draw() { queued(paint); }

async function paint() {
  const place = node(), fig = props.value && JSON.parse(props.value);
  element.classList.toggle('gw-none', !fig);
  if (!place) return;
  element.querySelector('.gw-mark').hidden = true;
  if (!fig) {
    window.Plotly?.purge(place);
    drawn = null;
    return;
  }
  const value = props.value;
  await library();
  if (value !== props.value) return;
  fig.frames ??= [];
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
    data: fig.data, layout: fig.layout,
    config: {responsive: true, displaylogo: false, modeBarButtonsToRemove: ['sendChartToCloud'],
      toImageButtonOptions: {format: 'svg', filename: plain(fig.layout.meta?.title) || 'figure'}},
  });
  // `react` keeps no frames of a figure that takes the place of another; those of a name that is
  // there already are replaced.
  if (fig.frames.length) await window.Plotly.addFrames(place, fig.frames);
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
  if (fig.follows && !fig.frames.length) mark(frame ?? fig.at);
  else await step();
  place.dataset.drawn = Number(place.dataset.drawn || 0) + 1;
}

// A line at the followed control's value, for figures that have no frames.
function mark(value) {
  const place = node(), line = element.querySelector('.gw-mark'), layout = place._fullLayout;
  const left = drawn?.follows && !drawn.frames.length && layout?.xaxis?.d2p(Number(value));
  line.hidden = !Number.isFinite(left);
  if (line.hidden) return;
  frame = value;
  line.style.left = `${place.offsetLeft + layout.xaxis._offset + left}px`;
  line.style.top = `${place.offsetTop + layout.yaxis._offset}px`;
  line.style.height = `${layout.yaxis._length}px`;
  line.firstElementChild.textContent = `${drawn.follows} ${value}`;
  line.classList.toggle('gw-leftward', left > layout.xaxis._length / 2);
  place.dataset.frame = value;
}

// Frames come faster than they can be drawn: only the last one counts.
function follow(value) {
  if (!drawn.frames.some(each => each.name === value)) return;
  frame = value;
  queued(step);
}
async function step() {
  const isThere = drawn?.frames.some(each => each.name === frame);
  if (isThere && node().dataset.frame !== frame) await move(frame);
}

// Points move without a full redraw, which costs ten times as much.
async function move(value) {
  const jump = {mode: 'immediate', frame: {duration: 0, redraw: false}, transition: {duration: 0}};
  await window.Plotly.animate(node(), [value], jump).catch(error => {
    if (error) throw error;  // Nothing is said where a later frame came in between.
  });
  node().dataset.frame = value;
  const title = drawn.frames.find(each => each.name === value)?.title;
  if (!title) return;
  element.querySelector('h3').textContent = plain(title);
  node().setAttribute('aria-label', plain(title));
}

// A control moved: follow it, if this figure does. Gradio tells of it a tenth of a second after the
// browser, so the control itself is listened to; what moves it from the server comes as gw-follow.
function moved(control, value) {
  if (!drawn || drawn.follows !== control || value === node().dataset.frame) return;
  if (drawn.frames.length) follow(value);
  else mark(value);
}
element.addEventListener('gw-follow', event => moved(event.detail.control, event.detail.value));
document.addEventListener('input', event => {
  const control = drawn?.follows, tool = element.closest('.gw-tool');
  if (!control || event.target.type !== 'range' || !tool?.contains(event.target)) return;
  if (event.target.closest(`[id$="-${control}"]`)) moved(control, event.target.value);
});

let pending = 0;
new ResizeObserver(() => {
  cancelAnimationFrame(pending);
  pending = requestAnimationFrame(() => {
    if (!drawn || !node()?.offsetParent) return;
    window.Plotly.Plots.resize(node()).then(() => { if (frame ?? drawn?.at) mark(frame ?? drawn.at); });
  });
}).observe(element);
let dark = document.body.classList.contains('dark');
new MutationObserver(() => {
  const now = document.body.classList.contains('dark');
  if (now !== dark) { dark = now; draw(); }
}).observe(document.body, {attributes: true, attributeFilter: ['class']});
watch('value', renew);
draw();
