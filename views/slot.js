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
  element.querySelector('.gw-marks').toggleAttribute('hidden', true);
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
  place.removeAllListeners('plotly_relayout');
  place.on('plotly_relayout', outline);
  place.removeAllListeners('plotly_click');
  place.removeAllListeners('plotly_selected');
  place.on('plotly_click', e => {
    const key = e.points[0].customdata;
    if (key === undefined) return;
    if (fig.clicks) tell(fig.clicks, String(key));
    trigger('click', {key: String(key)});
  });
  place.on('plotly_selected', e => {
    const keys = (e?.points || []).map(p => p.customdata).filter(key => key !== undefined);
    if (fig.selects) trigger('select', {keys: [...new Set(keys.map(String))]});
  });
  place.dataset.frame = fig.at ?? '';
  if (fig.follows && !fig.frames.length) mark(frame ?? fig.at);
  else await step();
  outline();
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

// Rings, lines and shades at the values of controls, for boards that need no new drawing then.
const box = (x0, x1, y0, y1) => `M${x0} ${y0}H${x1}V${y1}H${x0}Z`;
const line = path => [['under', path], ['line', path]];
const SHAPES = {
  cell: (at, v) => {
    const [s, t] = v.split(',').map(Number), path = box(at.x(t - 0.5), at.x(t + 0.5), at.y(s - 0.5), at.y(s + 0.5));
    return [['edge', path], ['ring', path]];
  },
  row: (at, v) => line(`M${at.x(+v)} ${at.y(+v)}H${at.width}`),
  column: (at, v) => line(`M${at.x(+v)} 0V${at.y(+v)}`),
  lag: (at, v) => line(`M${at.x(+v)} ${at.y(0)}L${at.x(at.last)} ${at.y(at.last - v)}`),
  window: (at, v) => {
    const [s, t] = v.split(',').map(Number), inside = at.columns.map((scale, i) => [scale, i])
      .filter(([scale]) => s <= scale && scale <= t).map(([, i]) => i);
    if (!inside.length) return [['shade', box(0, at.width, 0, at.height)]];
    const left = at.x(inside[0] - 0.2), right = at.x(inside[inside.length - 1] + 0.2);
    return [['shade', box(0, Math.max(left, 0), 0, at.height)],
      ['shade', box(Math.min(right, at.width), at.width, 0, at.height)]];
  },
};
function outline() {
  const place = node(), svg = element.querySelector('.gw-marks'), layout = place?._fullLayout;
  const meta = drawn?.layout?.meta || {}, marks = drawn?.marks || {};
  const isThere = layout?.xaxis && Object.keys(marks).length > 0;
  svg.toggleAttribute('hidden', !isThere);
  if (!isThere) return;
  const {xaxis, yaxis} = layout;
  const at = {x: v => xaxis.d2p(v), y: v => yaxis.d2p(v), width: xaxis._length, height: yaxis._length,
    last: meta.last ?? 0, columns: meta.columns || []};
  svg.style.left = `${place.offsetLeft + xaxis._offset}px`;
  svg.style.top = `${place.offsetTop + yaxis._offset}px`;
  svg.setAttribute('width', at.width);
  svg.setAttribute('height', at.height);
  const shapes = Object.entries(marks).flatMap(([control, value]) =>
    value ? (SHAPES[meta.marks?.[control]]?.(at, value) || []) : []);
  svg.replaceChildren(...shapes.filter(([, path]) => !path.includes('NaN')).map(([name, path]) => {
    const shape = document.createElementNS(svg.namespaceURI, 'path');
    shape.setAttribute('class', `gw-${name}`);
    shape.setAttribute('d', path);
    return shape;
  }));
}

// What was clicked is marked in all figures of the tool before the server answers.
function tell(control, value) {
  element.closest('.gw-tool')?.querySelectorAll('.gw-figure').forEach(slot => slot.dispatchEvent(
    new CustomEvent('gw-follow', {detail: {control, value}})));
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
  if (drawn?.marks && control in drawn.marks) {
    drawn.marks[control] = value;
    outline();
  }
  if (!drawn || drawn.follows !== control || value === node().dataset.frame) return;
  if (drawn.frames.length) follow(value);
  else mark(value);
}
element.addEventListener('gw-follow', event => moved(event.detail.control, event.detail.value));
document.addEventListener('input', event => {
  const tool = element.closest('.gw-tool');
  if (!drawn || event.target.type !== 'range' || !tool?.contains(event.target)) return;
  for (const control of [drawn.follows, ...Object.keys(drawn.marks || {})]) {
    if (control && event.target.closest(`[id$="-${control}"]`)) moved(control, event.target.value);
  }
});

let pending = 0;
new ResizeObserver(() => {
  cancelAnimationFrame(pending);
  pending = requestAnimationFrame(() => {
    if (!drawn || !node()?.offsetParent) return;
    window.Plotly.Plots.resize(node()).then(() => {
      if (frame ?? drawn?.at) mark(frame ?? drawn.at);
      outline();
    });
  });
}).observe(element);
let dark = document.body.classList.contains('dark');
new MutationObserver(() => {
  const now = document.body.classList.contains('dark');
  if (now !== dark) { dark = now; draw(); }
}).observe(document.body, {attributes: true, attributeFilter: ['class']});
watch('value', renew);
draw();
