"use strict";
// Sorts tables, embeds the plots, and sets their colours for the light or dark mode.

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (button === null) return;
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) {
        if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      }
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const value = (row) => Number(row.cells[column].dataset.value);
      const rows = [...body.rows].sort((a, b) => (up ? 1 : -1) * (value(a) - value(b)));
      body.append(...rows);
    });
  });
}

const dark = matchMedia("(prefers-color-scheme: dark)");

function paint(figure) {
  const style = getComputedStyle(document.documentElement);
  const soft = style.getPropertyValue("--soft").trim();
  for (const axis of [...figure.below, ...figure.left]) {
    axis.axis_label_text_color = soft;
    axis.major_label_text_color = soft;
  }
}

function fit(figure, place) {
  // On a narrow screen the map is lower and the labels are smaller.
  const narrow = place.clientWidth < 480;
  if (place.id === "plot-map") figure.height = narrow ? 400 : 520;
  for (const axis of [...figure.below, ...figure.left]) {
    axis.major_label_text_font_size = narrow ? "11px" : "13px";
  }
}

function followSelection(figure) {
  const select = document.getElementById("map-cluster");
  const again = document.getElementById("map-reset");
  const source = figure.renderers.find((one) => one.name === "map-rows").data_source;
  const ranges = [figure.x_range, figure.y_range];
  select.addEventListener("change", () => {
    const wanted = select.value === "" ? null : Number(select.value);
    const labels = [...source.data.cluster];
    source.selected.indices = wanted === null
      ? [] : labels.flatMap((label, index) => (label === wanted ? [index] : []));
  });
  const zoom = (factor) => {
    for (const range of ranges) {
      const middle = (range.start + range.end) / 2;
      const half = ((range.end - range.start) / 2) * factor;
      range.setv({start: middle - half, end: middle + half});
    }
  };
  document.getElementById("map-zoom-in").addEventListener("click", () => zoom(1 / 1.5));
  document.getElementById("map-zoom-out").addEventListener("click", () => zoom(1.5));
  again.addEventListener("click", () => {
    select.value = "";
    source.selected.indices = [];
    for (const range of ranges) range.reset();
  });
}

// Numbers of centers are this many pixels wide, and may move this many rings away.
const NUMBER_SIZE = 23;
const RINGS = 9;

function* listPlaces(x, y) {
  yield [x, y];
  for (let ring = 1; ring <= RINGS; ring += 1) {
    for (let step = 0; step < 6 * ring; step += 1) {
      const angle = (2 * Math.PI * step) / (6 * ring) - Math.PI / 2;
      yield [x + ring * 12 * Math.cos(angle), y + ring * 12 * Math.sin(angle)];
    }
  }
}

function placeNumbers(view) {
  // Each number takes the free place that is nearest to its center.
  const numbers = view.model.renderers.find((one) => one.name === "map-numbers");
  if (numbers === undefined) return;
  const source = numbers.data_source;
  const {x_scale: xScale, y_scale: yScale} = view.frame;
  const taken = [];
  const found = {x: [], y: []};
  const centers = [...source.data.center_x].map((x, index) => [x, source.data.center_y[index]]);
  for (const center of centers) {
    const [x, y] = [xScale.compute(center[0]), yScale.compute(center[1])];
    let best = [x, y];
    for (const place of listPlaces(x, y)) {
      const free = taken.every(([a, b]) => Math.hypot(a - place[0], b - place[1]) >= NUMBER_SIZE);
      if (free) {
        best = place;
        break;
      }
    }
    taken.push(best);
    found.x.push(xScale.invert(best[0]));
    found.y.push(yScale.invert(best[1]));
  }
  source.data = {...source.data, ...found};
}

function keepNumbersApart(view) {
  let waits = false;
  const later = () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      placeNumbers(view);
    });
  };
  const {x_range: xRange, y_range: yRange, properties} = view.model;
  for (const property of [
    xRange.properties.start, xRange.properties.end, yRange.properties.start, yRange.properties.end,
    properties.inner_width, properties.inner_height,
  ]) property.change.connect(later);
  placeNumbers(view);
}

async function embedPlots() {
  const holder = document.getElementById("plots");
  if (holder === null) return;
  const figures = [];
  for (const [place, item] of Object.entries(JSON.parse(holder.textContent))) {
    const element = document.getElementById(place);
    const views = await Bokeh.embed.embed_item(item, place);
    const figure = views.roots[0].model;
    fit(figure, element);
    paint(figure);
    figures.push(figure);
    if (place === "plot-map") {
      followSelection(figure);
      keepNumbersApart(views.roots[0]);
    }
  }
  dark.addEventListener("change", () => figures.forEach(paint));
  document.documentElement.dataset.plots = "ready";
}

addEventListener("beforeprint", () => {
  for (const more of document.querySelectorAll("details")) more.open = true;
});

embedPlots();
