// The foot of a tool: provenance, link, command line, export. The value is JSON; nothing of it
// becomes HTML.
const find = selector => element.querySelector(selector);
let said = 0;

function show() {
  const value = props.value ? JSON.parse(props.value) : null;
  find('.gw-provenance').textContent = value ? value.provenance : '';
  find('.gw-links').hidden = !value;
  if (!value) return;
  find('[data-opens=export]').setAttribute('href', value.export);
  if (element.offsetParent && value.link.length < 2000) {
    const theme = new URLSearchParams(location.search).get('__theme');
    const query = theme ? `${value.link}&__theme=${encodeURIComponent(theme)}` : value.link;
    history.replaceState(null, '', location.pathname + query);
  }
}

async function copy(kind) {
  const value = JSON.parse(props.value), base = location.origin + location.pathname;
  const text = kind === 'link' ? (value.outer || base) + value.link : value.command;
  const field = find('.gw-copy');
  field.value = text;
  try {
    await navigator.clipboard.writeText(text);
    say(`The ${kind} is copied.`);
  } catch {
    field.hidden = false;
    field.select();
    say(`Press Ctrl-C to copy the ${kind}.`);
  }
}

function say(text) {
  find('.gw-copied').textContent = text;
  clearTimeout(said);
  said = setTimeout(() => { find('.gw-copied').textContent = ''; }, 4000);
}

element.addEventListener('click', event => {
  const kind = event.target.dataset?.copies;
  if (kind) copy(kind);
});
watch('value', show);
show();
