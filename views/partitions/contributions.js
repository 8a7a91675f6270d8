// Draws a table that can be sorted. `element`, `props`, `trigger` and `watch` come from Gradio's
// HTML component. Event: 'click' {key}, the key of the row that was clicked.
let sorted = {column: 2, down: false};

function made(tag, fields, children = []) {
  const node = Object.assign(document.createElement(tag), fields);
  node.append(...children);
  return node;
}

function heading(text, column) {
  const chosen = sorted.column === column;
  const button = made('button', {
    type: 'button', className: 'gw-quiet',
    textContent: text + (chosen ? (sorted.down ? ' ↓' : ' ↑') : ''),
    onclick: () => {
      sorted = {column, down: chosen && !sorted.down};
      draw();
    },
  });
  const cell = made('th', {scope: 'col'}, [button]);
  cell.setAttribute('aria-sort', chosen ? (sorted.down ? 'descending' : 'ascending') : 'none');
  return cell;
}

function line(row) {
  const open = () => trigger('click', {key: row.key});
  const name = made('button', {
    type: 'button', textContent: row.name,
    onclick: event => { event.stopPropagation(); open(); },
  });
  Object.assign(name.style, {background: 'none', border: 0, padding: 0, color: 'inherit',
    font: 'inherit', cursor: 'pointer', textAlign: 'left'});
  const numbers = row.values.map(value => made('td', {
    className: 'gw-number', textContent: (value > 0 ? '+' : value < 0 ? '−' : '') + Math.abs(value),
  }));
  const whole = made('tr', {onclick: open}, [made('td', {}, [name]), ...numbers]);
  whole.style.cursor = 'pointer';
  if (row.marked) {
    whole.setAttribute('aria-selected', 'true');
    whole.style.boxShadow = 'inset 3px 0 0 var(--gw-accent)';
    whole.style.fontWeight = '600';
  }
  return whole;
}

function ordered(rows) {
  const of = row => sorted.column ? row.values[sorted.column - 1] : row.name;
  const sign = sorted.down ? -1 : 1;
  return [...rows].sort((a, b) => sign * (sorted.column ? of(a) - of(b)
    : of(a).localeCompare(of(b), undefined, {numeric: true})));
}

function draw() {
  const table = props.value ? JSON.parse(props.value) : {caption: '', rows: []};
  const place = element.querySelector('.gw-details');
  if (!place) return;
  element.querySelector('p').textContent = table.caption;
  place.style.maxHeight = '360px';
  place.style.overflowY = 'auto';
  if (!table.rows.length) return place.replaceChildren();
  const above = place.scrollTop;
  const head = made('thead', {}, [made('tr', {}, table.header.map(heading))]);
  const body = made('tbody', {}, ordered(table.rows).map(line));
  place.replaceChildren(made('table', {className: 'gw-table'}, [head, body]));
  place.scrollTop = above;
}

watch('value', draw);
draw();
