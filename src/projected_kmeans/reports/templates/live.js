"use strict";
// Polls the state of the fit, shows it, and loads the report when the fit has finished.

const find = (id) => document.getElementById(id);
const brief = (value) => Number(value).toPrecision(6).replace(/\.?0+(e|$)/, "$1");
const time = (seconds) => (seconds >= 120 ? `${(seconds / 60).toFixed(1)} min` : `${seconds.toFixed(1)} s`);
const names = {check: "checking rows", reduce: "reducing columns", seed: "choosing initial centers",
  cluster: "improving clusters", lift: "computing centers in the original columns", polish: "polishing", certify: "computing its certificate"};

function put(id, text, note) {
  const element = find(id);
  element.firstChild.nodeValue = text;
  element.querySelector("small").textContent = note;
}

function draw(line) {
  const most = Math.max(...line), least = Math.min(...line), reach = most - least || 1;
  const points = line.map((value, index) =>
    `${(100 * index) / Math.max(1, line.length - 1)},${95 - (90 * (value - least)) / reach}`);
  document.querySelector("polyline").setAttribute("points", points.join(" "));
  find("range").textContent = `From ${brief(most)} down to ${brief(least)}.`;
}

function show(state) {
  if (state.step === null) return;
  const share = Math.min(100, Math.round((100 * state.iteration) / Math.max(1, state.total)));
  find("bar").setAttribute("aria-valuenow", share);
  find("bar").firstElementChild.style.width = `${share}%`;
  put("step", state.step, `${state.iteration} of at most ${state.total}, restart ${state.restart + 1}`);
  if (state.inertia !== null) {
    put("inertia", brief(state.inertia), state.step === "cluster" ? "on the sketch" : "original columns");
  }
  put("seconds", time(state.seconds), "");
  put("left", state.step_left === null ? "–" : `at most ${time(state.step_left)}`, "");
  const status = state.stopping ? "Stopping after the current pass; the best result is kept."
    : `The fit is ${names[state.step] || state.step}.`;
  if (find("status").textContent !== status) find("status").textContent = status;
  find("stop").disabled = state.stopping;
  if (state.line.length > 1) draw(state.line);
}

async function ask() {
  try {
    const state = await (await fetch("state", {cache: "no-store"})).json();
    if (state.finished) { location.reload(); return; }
    show(state);
  } catch {
    find("status").textContent = "The program no longer answers; it has ended.";
    find("stop").disabled = true;
    return;
  }
  setTimeout(ask, 300);
}

find("stop").addEventListener("click", async () => {
  find("stop").disabled = true;
  await fetch("stop", {method: "POST"});
});
ask();
