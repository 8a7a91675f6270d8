"""Find the pixel of a data point in a figure drawn by plotly.js, and click it.

The point's place is worked out from the drawn axes. Points of scatter and scattergl traces are
numbered; a cell of a heatmap is (row, column). A figure's node is `#<elem_id> .figure`.
"""

from playwright.sync_api import Page

DRAWN = """
([selector, trace]) => {
  const node = document.querySelector(selector);
  return Boolean(node?._fullData?.some(t => t.index === trace) && node.querySelector('.main-svg'));
}
"""
# A spot is put over the figure and scrolled to, so that every scrolling element is minded.
PLACE = """
([selector, trace, index]) => {
  const node = document.querySelector(selector), layout = node._fullLayout;
  const full = node._fullData.find(t => t.index === trace);
  const axis = id => layout[id[0] + 'axis' + id.slice(1)];
  if (!full.xaxis) throw new Error(`trace ${trace} (${full.type}) has no x and y axis`);
  const x = axis(full.xaxis), y = axis(full.yaxis);
  const plain = side =>
    full[side] ? full[side][index] : full[side + '0'] + index * full['d' + side];
  const cell = (edges, i) => (edges[i] + edges[i + 1]) / 2;
  let left, top;
  if (full.type === 'heatmap') {
    const drawn = node.calcdata[node._fullData.indexOf(full)][0];
    left = x.c2p(cell(drawn.x, index[1]));
    top = y.c2p(cell(drawn.y, index[0]));
  } else {
    left = x.d2p(plain('x'));
    top = y.d2p(plain('y'));
  }
  if (!Number.isFinite(left + top)) throw new Error(`trace ${trace} has no point ${index}`);
  const spot = document.createElement('div');
  spot.style.cssText = 'position:absolute;width:0;height:0;pointer-events:none';
  spot.style.left = `${x._offset + left}px`;
  spot.style.top = `${y._offset + top}px`;
  node.querySelector('.svg-container').append(spot);
  spot.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const place = spot.getBoundingClientRect();
  spot.remove();
  const there = document.elementFromPoint(place.x, place.y);
  if (!node.contains(there))
    throw new Error(`point ${index} of trace ${trace} is covered or out of view: ${there?.outerHTML
      .slice(0, 200)}`);
  return [place.x, place.y];
}
"""
# Two clicks within the delay are a double click to plotly.js, which would reset the axes.
RESTED = """
selector => {
  const node = document.querySelector(selector);
  return Date.now() - (node._mouseDownTime ?? 0) > (node._context.doubleClickDelay ?? 300) + 50;
}
"""


def point_at(
    page: Page, selector: str, trace: int, index: int | tuple[int, int]
) -> tuple[float, float]:
    """Scroll a data point into view and return its place in the viewport, in CSS pixels."""
    page.wait_for_function(DRAWN, arg=[selector, trace])
    where = list(index) if isinstance(index, tuple) else index
    left, top = page.evaluate(PLACE, [selector, trace, where])
    return float(left), float(top)


def click_point(page: Page, selector: str, trace: int, index: int | tuple[int, int]) -> None:
    """Click a data point as a hand does: move there, press, release."""
    left, top = point_at(page, selector, trace, index)
    page.wait_for_function(RESTED, arg=selector)
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.up()
