// page.cjs CHROMIUM REPORT LIB WORK: uses the page as people do: with the mouse, the keyboard and
// by a screen reader's rules. STEPS="live lists" takes only these steps.
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const { spawn, execFileSync } = require("child_process");
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [executablePath, report, lib, work] = process.argv.slice(2);
const attack = "<script>document.title='owned'</script>", long = "very::long<" + "x".repeat(10000) + ">::name";
const folded = [
  "main;parse;lex 400", `main;parse;${attack} 300`, "main;run;a\"b'c<img src=x onerror=alert(1)> 200", "main;run 100",
  `main;${long} 50`, "main;right\u202eleft 40", "main;new\\nline 30", "main;run;inner;parse;lex 20",
].join("\n") + "\n";

async function serve(...names) {
  const server = spawn(report, ["--serve", ...names], { stdio: ["ignore", "pipe", "inherit"] });
  const link = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data).trim())));
  return { server, link, at: (to) => new URL(to, link).href };
}

async function open(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.trouble = [];
  page.on("console", (message) => { if (message.type() === "error") page.trouble.push(message.text()); });
  page.on("pageerror", (error) => page.trouble.push(String(error)));
  page.on("dialog", (dialog) => { page.trouble.push("dialog " + dialog.message()); dialog.dismiss(); });
  return page;
}

const ready = (page) => page.waitForSelector("html[data-ready]");

async function accessible(browser, served, paths) {
  // axe needs a script of its own, which the page's policy rightly forbids.
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(browser, { bypassCSP: true, colorScheme });
    await page.goto(served.link);
    for (const each of paths) {
      await page.goto(served.at(each));
      await ready(page);
      await page.addScriptTag({ content: axe });
      const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      const told = found.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | ")}`);
      assert.deepStrictEqual(told, [], `axe on ${each}, ${colorScheme}`);
    }
    await page.context().close();
  }
}

async function lists(page, served) {
  await page.goto(served.at("/self"));
  await ready(page);
  const names = () => page.locator("main td.name a.fn").allTextContents();
  const row = (name) => page.locator("main tr[data-id]", { has: page.getByRole("link", { name, exact: true }) });
  assert.ok((await names()).includes("lex"));
  // One click excludes; the chip says so; undo and Back take it back.
  await row("lex").hover();
  await row("lex").locator("button[name=exc]").click();
  await page.waitForURL(/exc=id/);
  assert.ok(!(await names()).includes("lex"));
  assert.match(await page.textContent(".chip.exc"), /without lex/);
  assert.match(await page.textContent("#command"), /--self --exclude lex/);
  await page.keyboard.press("u");
  await page.waitForURL((url) => !url.search.includes("exc"));
  assert.ok((await names()).includes("lex"));
  await page.goBack();
  await page.waitForURL(/exc=id/);
  assert.strictEqual(await page.locator(".chip").count(), 1);
  // The chip's signs move the entry from list to list and remove it.
  await page.getByRole("link", { name: "folded instead" }).click();
  await page.waitForURL(/fold=id/);
  await page.getByRole("link", { name: "take it off the list" }).click();
  await page.waitForURL((url) => url.search === "");
  // A link holds the whole state: another browser sees the same.
  await page.goto(served.at("/self?sel=parse&metric=samples"));
  const sent = page.url(), shown = await names();
  await page.goto(served.at("/overview"));
  await page.goto(sent);
  assert.deepStrictEqual(await names(), shown);
}

async function keyboard(page, served) {
  await page.goto(served.at("/overview"));
  await ready(page);
  for (const [key, title] of [["d", /\/dominated/], ["t", /\/tree/], ["f", /\/flame/], ["s", /\/self/]]) {
    await page.keyboard.press(key);
    await page.waitForURL(title);
    await ready(page);
  }
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  assert.strictEqual(await page.locator("tr.current").count(), 1);
  const id = await page.getAttribute("tr.current", "data-id");
  await page.keyboard.press("-");
  await page.waitForURL(new RegExp(`exc=${encodeURIComponent(id)}|exc=${id}`));
  await ready(page);
  await page.keyboard.press("u");
  await page.waitForURL((url) => !url.search.includes("exc"));
  await ready(page);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/block\/id/);
  await ready(page);
  await page.keyboard.press("/");
  await page.keyboard.type("lex");
  await page.waitForSelector(".suggest li");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("h1")?.textContent === "lex");
  await ready(page);
  await page.keyboard.press("?");
  assert.ok(await page.isVisible("dialog[open]"));
  await page.keyboard.press("Escape");
  // Without a current row, Enter opens nothing.
  await page.goto(served.at("/self"));
  await ready(page);
  await page.keyboard.press("Enter");
  await page.waitForTimeout(300);
  assert.strictEqual(new URL(page.url()).pathname, "/self");
  // Lists get the current row's function, whatever a flame graph chose before; its mere focus chooses none.
  for (const way of ["focus", "arrow", "click"]) {
    await page.goto(served.at("/overview"));
    await ready(page);
    await page.locator(".flame canvas").focus();
    if (way !== "focus") await page.keyboard.press("ArrowDown");
    await page.evaluate(() => document.activeElement.blur());
    if (way === "focus") {
      await page.keyboard.press("-");
      await page.waitForTimeout(300);
      assert.ok(!page.url().includes("exc="), "nothing is chosen yet");
    }
    if (way === "click") await page.locator("main tr[data-id] td.num").first().click();
    else await page.keyboard.press("j");
    const marked = await page.getAttribute("main .current", "data-id");
    await page.keyboard.press("-");
    await page.waitForURL(/exc=/);
    assert.strictEqual(new URL(page.url()).searchParams.get("exc"), marked, way);
  }
  // Only arrows that are meant for the tree fold its rows.
  await page.goto(served.at("/tree"));
  await ready(page);
  do await page.keyboard.press("j"); while (!await page.locator("tr.current[data-foldable]").count());
  const folded = () => page.locator("tr.current.folded").count();
  await page.keyboard.press("Control+ArrowLeft");
  await page.fill(".find input", "le");
  await page.keyboard.press("ArrowLeft");
  assert.strictEqual(await folded(), 0, "the arrow moved in the text");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.keyboard.press("ArrowLeft");
  assert.strictEqual(await folded(), 1);
}

async function flame(page, served) {
  await page.goto(served.at("/flame"));
  await ready(page);
  const canvas = page.locator(".flame canvas"), place = page.locator(".flame");
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + 40, box.y + 30);
  assert.match(await page.textContent(".flame-tip"), /%/);
  const right = Number(await place.getAttribute("data-right"));
  await page.mouse.click(box.x + 40, box.y + 50);
  await page.waitForFunction((all) => Number(document.querySelector(".flame").dataset.right) < all, right);
  assert.ok(await page.evaluate(() => document.querySelector(".flame-tip").classList.contains("hidden")), "zooming hides the tip");
  await page.goBack();
  await page.waitForFunction((all) => Number(document.querySelector(".flame").dataset.right) === all, right);
  await page.fill(".flame-search", "lex");
  assert.match(await page.textContent(".flame-found"), /%/);
  await canvas.focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "Enter", "Escape"]) await page.keyboard.press(key);
  assert.match(await page.textContent(".flame-detail"), /%/);
  await page.locator(".flame-detail a.button", { hasText: "callers" }).click();
  await page.waitForURL(/pivot=/);
  await ready(page);
  // Arrows lead from the function to its callers, and back to its callees.
  await page.goto(served.at("/flame?pivot=" + await page.evaluate(async () => {
    const { functions } = await (await fetch("/flame?format=json")).json();
    return functions.id[functions.name.indexOf("parse")];
  })));
  await ready(page);
  await canvas.focus();
  const chosen = [];
  for (const key of ["ArrowUp", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp"]) {
    await page.keyboard.press(key);
    chosen.push(await page.textContent(".flame-detail a.fn"));
  }
  assert.deepStrictEqual(chosen, ["main", "parse", "lex", "parse", "main"]);
  await page.goto(served.at("/flame"));
  await ready(page);
  // Neither a dialog's keys nor the browser's are for the graph.
  await page.keyboard.press("Alt+i");
  await page.keyboard.press("?");
  await page.keyboard.press("i");
  await page.waitForTimeout(300);
  assert.ok(page.url().endsWith("/flame"), page.url());
  await page.keyboard.press("Escape");
  await page.keyboard.press("i");
  await page.waitForURL(/inverted=1/);
  // A comparison's colour is none of another graph.
  await page.evaluate(() => localStorage.setItem("fbleprof-flame-colour", "change"));
  await page.goto(served.at("/flame"));
  await ready(page);
  assert.strictEqual(await page.inputValue(".flame-colour"), "function");
  assert.deepStrictEqual(page.trouble, []);
}

// What a flame graph shows is in the address: a link shows the same, Back leads back, lists keep it.
async function flameAddress(page, browser, served) {
  await page.goto(served.at("/flame"));
  await ready(page);
  const view = (of) => of.evaluate(() => ["left", "right"].map((side) => document.querySelector(".flame").dataset[side]).join());
  const shows = (wanted) => page.waitForFunction((span) => ["left", "right"].map((side) => document.querySelector(".flame").dataset[side]).join() === span, wanted);
  const box = await page.locator(".flame canvas").boundingBox(), all = await view(page);
  await page.mouse.click(box.x + 40, box.y + 50);
  await page.waitForURL(/zoom=[0-9a-f]{16}$/);
  const zoomed = await view(page);
  assert.notStrictEqual(zoomed, all);
  // Cheap frames outside the part in view count, too.
  await page.fill(".flame-search", "lex|img");
  await page.waitForURL(/highlight=lex%7Cimg/);
  const found = await page.textContent(".flame-found");
  assert.match(found, /^[\d.]+% of this part, [\d.]+% of everything \(\d+\)$/);
  const [here, everything] = found.match(/[\d.]+(?=%)/g).map(Number);
  assert.ok(here > everything, found);
  const other = await open(browser);
  await other.goto(served.link);
  await other.goto(page.url());
  await ready(other);
  assert.deepStrictEqual([await view(other), await other.inputValue(".flame-search"), await other.textContent(".flame-found"),
    await other.textContent(".flame-detail")], [zoomed, "lex|img", found, await page.textContent(".flame-detail")]);
  await other.context().close();
  await page.keyboard.press("Tab");
  await page.locator(".flame-detail").getByRole("button", { name: "fold" }).click();
  await page.waitForURL(/fold=id.*zoom=.*highlight=lex/);
  await ready(page);
  await page.keyboard.press("u");
  await page.waitForURL((url) => !url.search.includes("fold=") && /zoom=.*highlight=/.test(url.search));
  await shows(zoomed);
  await page.goto(served.at("/flame"));
  await ready(page);
  await page.mouse.click(box.x + 40, box.y + 50);
  await shows(zoomed);
  await page.goBack();
  await shows(all);
  await page.goForward();
  await shows(zoomed);
  await page.keyboard.press("Escape");
  await page.waitForURL(/\/flame$/);
  await page.mouse.move(box.x + 200, box.y + 30);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -100);
  await page.keyboard.up("Control");
  await page.waitForURL(/zoom=[0-9a-f]*,[\d.]+,[\d.]+$/);
  const part = await view(page);
  await page.reload();
  await ready(page);
  const [wanted, shown] = [part, await view(page)].map((text) => text.split(",").map(Number));
  assert.ok(shown.every((value, i) => Math.abs(value - wanted[i]) < 1), `${shown} is ${wanted}`);
  await page.fill(".flame-search", "lex(");
  assert.match(await page.textContent(".flame-found"), /no regular expression: unterminated group/i);
  assert.strictEqual(await page.getAttribute(".flame-search", "aria-invalid"), "true");
  assert.deepStrictEqual(page.trouble, []);
}

// Suggestions are short names, whole on hover, and stay on the screen.
async function suggestions(browser, served) {
  for (const width of [1280, 800, 400]) {
    const page = await open(browser, { viewport: { width, height: 800 } });
    await page.goto(served.link);
    await ready(page);
    await page.fill(".find input", "ver");
    const item = page.locator(".suggest li", { hasText: "very" });
    assert.match(await item.getAttribute("title"), /^very::long<x{1000}/);
    assert.ok((await item.textContent()).length < 100);
    const box = await page.locator(".suggest").boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= width, `${box.x} ${box.width} at ${width}`);
    await page.context().close();
  }
}

// The picture of calls begins at its left end, if its root is in sight there; else at its root.
async function graphStart(browser) {
  const names = Array.from({ length: 14 }, (_, i) => `function_number_${i}`);
  fs.writeFileSync(path.join(work, "wide"), names.map((name) => `main;${name} 10\nmain;${name};only_${name} 1\n`).join(""));
  const served = await serve(path.join(work, "wide"));
  for (const [width, startsLeft] of [[1500, true], [400, false]]) {
    const page = await open(browser, { viewport: { width, height: 800 } });
    await page.goto(served.link);
    const start = async (query, name) => {
      await page.goto(served.at("/edges" + query));
      await ready(page);
      const place = await page.locator(".scroll:has(svg.graph)").evaluate((scroll) => [scroll.scrollLeft, scroll.scrollWidth - scroll.clientWidth]);
      const box = await page.locator("svg.graph a[data-function]", { hasText: new RegExp(`^${name}\\n`) }).locator("rect").first().boundingBox();
      assert.ok(place[1] > 0, "it is wider than the screen");
      assert.ok(box.x >= 0 && box.x + box.width <= width, `${name} is in sight at ${width}`);
      return place[0];
    };
    assert.strictEqual(await start("", "main") === 0, startsLeft);
    await page.context().close();
  }
  served.server.kill("SIGINT");
}

// A name is whole on hover, and one key copies it; a button copies the command.
async function copies(browser, served) {
  const page = await open(browser);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(served.link);
  await page.goto(served.at("/self?exc=lex"));
  await ready(page);
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await page.click("#copy");
  assert.match(await copied(), /^fble-prof-report --self --exclude lex /);
  const row = page.locator("main tr[data-id]", { hasText: "very::long" });
  const whole = await row.locator("a.fn").getAttribute("title");
  assert.ok(whole.startsWith("very::long<xxx") && whole.length > 1000, "whole on hover");
  do await page.keyboard.press("j"); while (!/very::long/.test(await page.textContent("tr.current")));
  await page.keyboard.press("c");
  await page.waitForFunction(() => document.querySelector(".toast")?.textContent === "name copied");
  assert.match(await copied(), /^very::long<xxx/);
  assert.deepStrictEqual(page.trouble, []);
  await page.context().close();
}

// On a phone nothing is wider than the screen, and a name is above its figures.
async function phone(browser, served, paths) {
  const page = await open(browser, { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true, bypassCSP: true });
  await page.goto(served.link);
  for (const each of paths) {
    await page.goto(served.at(each));
    await ready(page);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${each} is too wide`);
    await page.addScriptTag({ content: axe });
    const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    assert.deepStrictEqual(found.violations.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 200)}`), [], `axe on ${each}`);
  }
  await page.goto(served.at("/self"));
  await ready(page);
  const name = await page.locator("main td.name").first().boundingBox(), figure = await page.locator("main td.num").first().boundingBox();
  assert.ok(name.y + name.height <= figure.y + 1 && name.x + name.width <= 391, "names are above");
  await page.context().close();
}

async function withoutScripts(browser, served) {
  const page = await open(browser, { javaScriptEnabled: false });
  await page.goto(served.link);
  await page.getByRole("link", { name: "Tree", exact: true }).click();
  assert.ok(await page.isVisible("table.tree"));
  await page.getByRole("link", { name: "Self", exact: true }).first().click();
  await page.locator("tr[data-id]", { hasText: "lex" }).first().locator("button[name=sel]").click();
  assert.match(page.url(), /sel=id/);
  assert.match(await page.textContent(".chip"), /only through lex/);
  await page.goto(served.at("/flame"));
  for (const dead of [".toolbar", ".flame canvas"]) assert.ok(!await page.isVisible(dead), `${dead} needs a script`);
  assert.match(await page.textContent(".flame"), /needs JavaScript.*tree/);
  await page.context().close();
}

// A program that runs until it is killed, and a server of its profile.
async function running(name) {
  const out = path.join(work, name);
  fs.mkdirSync(out);
  const program = spawn("perl", ["-e", "sub inner { my $x = 1; $x = sqrt($x + 1) for 1 .. 1000 } for (;;) { inner() }"],
    { env: { ...process.env, LD_PRELOAD: lib, FBLEPROF_OUT: path.join(out, "mlmon.out") } });
  process.on("exit", () => program.kill("SIGKILL"));
  await new Promise((resolve) => setTimeout(resolve, 1200));
  return { program, served: await serve(out) };
}

// A click counts although the page is renewed all the time, also between its press and its release.
async function clicks(browser) {
  const { program, served } = await running("clicks");
  const page = await open(browser);
  await page.goto(served.link);
  let number = 0;
  const news = () => Array.from({ length: 20 }, () => `retry: 10\nevent: changed\ndata: {"generation":${++number},"live":true}\n\n`).join("");
  await page.route("**/events", (route) => route.fulfill({ contentType: "text/event-stream", body: news() }));
  const press = async (button) => {
    const loaded = page.waitForEvent("load");
    await button.click({ delay: 300 });
    await loaded;
    await ready(page);
  };
  await page.goto(served.at("/self"));
  await ready(page);
  for (const name of ["stop", "start", "snapshot", "stop", "start"]) {
    await press(page.getByRole("button", { name, exact: true }));
    assert.strictEqual(new URL(page.url()).pathname, "/self", `${name} leads back to its page`);
  }
  await press(page.locator("main button[name=exc]").nth(2));
  assert.match(page.url(), /exc=id/);
  // Renewing takes neither the focus nor the place in a tree.
  await page.goto(served.at("/tree"));
  await ready(page);
  await page.locator("tr[data-foldable] .twig").nth(1).click();
  const isFolded = () => page.evaluate(() => document.querySelector("table.tree tr.folded + tr")?.hasAttribute("hidden"));
  assert.ok(await isFolded());
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  const focused = await page.evaluateHandle(() => document.activeElement);
  await page.waitForTimeout(500);
  assert.ok(await isFolded(), "what is folded stays so");
  assert.ok(await page.evaluate((was) => document.activeElement === was, focused), "so does the focus");
  assert.ok(number > 100, "it was renewed all the time");
  assert.deepStrictEqual(page.trouble, []);
  program.kill("SIGKILL");
  served.server.kill("SIGINT");
}

async function live(browser) {
  const { program, served } = await running("live");
  const page = await open(browser);
  await page.goto(served.link);
  await page.goto(served.at("/self"));
  await ready(page);
  assert.match(await page.textContent("#live"), /live/);
  await page.keyboard.press("j");
  const total = () => page.textContent(".kept"), before = await total();
  const id = await page.getAttribute("tr.current", "data-id");
  await page.waitForFunction((was) => document.querySelector(".kept").textContent !== was, before, { timeout: 15000 });
  assert.strictEqual(await page.getAttribute("tr.current", "data-id"), id, "the current row stays");
  // The menu of metrics has their present totals, and those that came later. It keeps the focus.
  let hasMenu = false, hasLater = false;
  await page.route(served.at("/self"), async (route) => {
    const response = await route.fetch(), body = await response.text();
    const option = "<option value=first>first 1</option>", form = `<form class=metric method=get action="/self"><select name=metric aria-label=metric>`;
    const rest = body.match(/<option .*?<\/form>/s)?.[0] ?? "<option value=cpu selected>cpu</option></select></form>";
    const changed = body.replace(/<form class=metric.*?<\/form>/s, "").replace("<button id=theme", hasMenu ? form + (hasLater ? option : "") + rest + "<button id=theme" : "$&");
    await route.fulfill({ response, body: changed });
  });
  await page.goto(served.at("/self"));
  await ready(page);
  assert.strictEqual(await page.locator(".metric").count(), 0);
  hasMenu = true;
  await page.waitForSelector(".metric select", { timeout: 30000 });
  const metrics = page.locator(".metric select"), optionTexts = () => metrics.locator("option").allTextContents();
  const chosenMetric = await metrics.inputValue(), totals = await optionTexts();
  await metrics.focus();
  hasLater = true;
  await page.waitForFunction(() => document.querySelector(".metric option").value === "first", null, { timeout: 30000 });
  assert.ok((await optionTexts())[1] !== totals[0], "a total grows");
  assert.strictEqual(await metrics.inputValue(), chosenMetric);
  assert.ok(await metrics.evaluate((select) => document.activeElement === select), "the menu keeps the focus");
  await page.unroute(served.at("/self"));
  // A flame graph stays where the user zoomed to, and keeps what was chosen.
  await page.goto(served.at("/flame"));
  await ready(page);
  await page.locator(".flame canvas").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  const chosenName = () => page.evaluate(() => document.querySelector(".flame-detail a")?.textContent);
  const chosen = await chosenName(), then = await total();
  assert.ok(chosen);
  await page.waitForFunction((was) => document.querySelector(".kept").textContent !== was, then, { timeout: 15000 });
  assert.strictEqual(await chosenName(), chosen, "the chosen frame stays");
  assert.ok(await page.evaluate(() => document.activeElement?.tagName === "CANVAS"), "so does the focus");
  // A call graph stays where it was scrolled to, and the focus on its function, wherever its box is
  // drawn; what the user closed stays closed. Each copy of the page has the boxes in another order.
  let copies = 0;
  await page.route(served.at("/edges"), async (route) => {
    const response = await route.fetch(), body = await response.text();
    const boxes = body.match(/<a [^>]*data-function=.*?<\/a>/gs), other = ++copies % 2 ? boxes : boxes.toReversed();
    await route.fulfill({ response, body: body.replace(/<a [^>]*data-function=.*?<\/a>/gs, () => other.shift())
      .replace(/<main[^>]*>/, "$&<details open><summary>closed</summary></details>") });
  });
  await page.setViewportSize({ width: 300, height: 800 });
  await page.goto(served.at("/edges"));
  await ready(page);
  await page.getByText("closed", { exact: true }).click();
  const graph = page.locator("svg.graph"), box = graph.locator("a[data-function]").first();
  await box.focus();
  await graph.evaluate((picture) => picture.parentElement.scrollLeft = 0);
  // By now another box may be the first.
  const chosenBox = await page.evaluate(() => document.activeElement.getAttribute("data-function")), first = copies;
  for (let i = 0; i < 100 && copies < first + 3; ++i) await page.waitForTimeout(100);
  assert.ok(copies >= first + 3, "the call graph was renewed");
  assert.ok(chosenBox, "a function has the focus");
  assert.strictEqual(await page.evaluate(() => document.activeElement.getAttribute("data-function")), chosenBox, "the focus keeps its function");
  assert.strictEqual(await graph.evaluate((picture) => picture.parentElement.scrollLeft), 0, "the call graph keeps its place");
  assert.ok(!await page.locator("main > details").first().evaluate((details) => details.open), "what was closed stays closed");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(served.at("/self"));
  await ready(page);
  // While paused, nothing changes; a mark serves as a baseline.
  await page.click("#pause");
  const paused = await total();
  await page.waitForTimeout(2500);
  assert.strictEqual(await total(), paused);
  await page.click("#pause");
  await page.goto(served.at("/diff"));
  await page.getByRole("button", { name: "Mark this moment" }).click();
  await page.getByRole("link", { name: /mark 1/ }).click();
  await page.waitForURL(/base=mark1/);
  await ready(page);
  await page.goto(served.at("/self"));
  await ready(page);
  await page.waitForTimeout(300);
  // Its recording is stopped and goes on, and a snapshot divides the run.
  const press = (name) => Promise.all([page.waitForEvent("load"), page.getByRole("button", { name, exact: true }).click()]);
  await press("snapshot");
  await press("stop");
  await page.getByRole("button", { name: "start", exact: true }).waitFor();
  assert.strictEqual(new URL(page.url()).pathname, "/self", "a button leads back to its page");
  await page.waitForTimeout(1500);
  const stopped = await total();
  await page.waitForTimeout(1500);
  assert.strictEqual(await total(), stopped, "it is stopped");
  await press("start");
  await page.waitForFunction((was) => document.querySelector(".kept").textContent !== was, stopped, { timeout: 15000 });
  await page.goto(served.at("/windows"));
  await ready(page);
  assert.ok(await page.locator("main table tbody tr").count() > 0, "the snapshot is listed");
  await page.goto(served.at("/self"));
  await ready(page);
  // The last copy of the page counts most: if the server fails once, the page asks again.
  let failures = 0;
  await page.route(served.at("/self"), async (route) => {
    if (!failures && await page.textContent("#live") === "ended") {
      ++failures;
      await route.fulfill({ status: 503 });
    } else {
      await route.continue();
    }
  });
  program.kill("SIGKILL");
  await page.waitForFunction(() => document.querySelector("#live").textContent === "ended", null, { timeout: 20000 });
  assert.ok(await page.locator("main tr[data-id]").count() > 0, "everything stays");
  await page.waitForFunction(() => !document.querySelector(".controls"), null, { timeout: 15000 });
  assert.strictEqual(failures, 1);
  assert.deepStrictEqual(page.trouble.filter((text) => !text.includes("503")), []);
  served.server.kill("SIGINT");
}

// A browser has six connections for a server: tabs in the background leave them to the one in sight.
async function tabs(browser) {
  const { program, served } = await running("tabs");
  const first = await open(browser);
  await first.goto(served.link);
  // Without a screen, all tabs are in sight.
  const see = (tab, visibility) => tab.evaluate((value) => {
    Object.defineProperty(document, "visibilityState", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, visibility);
  let tab = first;
  for (let number = 0; number < 8; ++number) {
    if (number) tab = await first.context().newPage();
    await tab.goto(served.at("/self"), { timeout: 10000 });
    await ready(tab);
    await tab.waitForFunction(() => document.querySelector("#live").textContent === "live");
    await see(tab, "hidden");
  }
  // What changed meanwhile is shown when a tab comes back.
  const total = () => first.textContent(".kept"), before = await total();
  await first.waitForTimeout(2500);
  assert.strictEqual(await total(), before, "nothing is fetched for a tab that is not seen");
  await see(first, "visible");
  await first.waitForFunction((was) => document.querySelector(".kept").textContent !== was, before, { timeout: 15000 });
  assert.deepStrictEqual(first.trouble, []);
  await first.context().close();
  program.kill("SIGKILL");
  served.server.kill("SIGINT");
}

async function inAFile(browser) {
  const file = path.join(work, "page.html");
  execFileSync(report, ["--export", "html", "-o", file, path.join(work, "folded")]);
  const page = await open(browser, { offline: true });
  await page.goto("file://" + file);
  await ready(page);
  await page.getByRole("link", { name: "Self", exact: true }).first().click();
  await page.waitForFunction(() => document.querySelector("h1").textContent === "Self");
  await page.locator("main").getByRole("link", { name: "lex", exact: true }).first().click();
  await page.waitForFunction(() => document.querySelector("h1").textContent === "lex");
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("h1").textContent === "Self");
  // Keys act on the function of the page, whatever row was current before.
  await page.keyboard.press("j");
  await page.locator("main").getByRole("link", { name: "lex", exact: true }).first().click();
  await page.waitForFunction(() => document.querySelector("h1").textContent === "lex");
  await page.keyboard.press("-");
  await page.waitForFunction(() => document.querySelector(".chip.exc")?.textContent?.includes("without lex"));
  await page.keyboard.press("u");
  await page.waitForFunction(() => !document.querySelector(".chip"));
  await page.keyboard.press("Enter");
  await page.waitForTimeout(300);
  assert.strictEqual(await page.textContent("h1"), "lex", "no row is current any more");
  await page.getByRole("link", { name: "Self", exact: true }).first().click();
  await page.waitForFunction(() => document.querySelector("h1").textContent === "Self");
  // Lists work on the file's own content: one click, a chip, undo; links keep them.
  const names = () => page.locator("main td.name a.fn").allTextContents();
  const row = (name) => page.locator("main tr[data-id]", { has: page.getByRole("link", { name, exact: true }) });
  assert.ok((await names()).includes("lex"));
  await row("lex").hover();
  await row("lex").locator("button[name=exc]").click();
  await page.waitForFunction(() => document.querySelector(".chip.exc")?.textContent?.includes("without lex"));
  assert.ok(!(await names()).includes("lex"));
  assert.match(await row("parse").textContent(), /^0/, "nothing but lex was below parse, beside what the attack took");
  await row("run").hover();
  await row("run").locator("button[name=fold]").click();
  await page.waitForSelector(".chip.fold");
  assert.ok(!(await names()).includes("run"));
  await page.keyboard.press("f");
  await page.waitForSelector(".flame canvas");
  assert.match(page.url(), /exc=id.*fold=id/);
  assert.strictEqual(await page.locator(".chip").count(), 2);
  // A file has no graph around a function: nothing leads to one.
  await page.locator(".flame canvas").focus();
  await page.keyboard.press("p");
  const box = await page.locator(".flame canvas").boundingBox();
  await page.mouse.click(box.x + 40, box.y + 30);
  await page.keyboard.down("Shift");
  await page.mouse.click(box.x + 40, box.y + 30);
  await page.keyboard.up("Shift");
  await page.waitForTimeout(300);
  assert.ok(page.url().startsWith("file://" + file + "#/flame"), page.url());
  await page.keyboard.press("?");
  const keys = await page.locator("dialog[open] kbd").allTextContents();
  assert.ok(keys.includes("o") && !keys.includes("p") && !keys.includes("i"), keys.join(" "));
  await page.keyboard.press("Escape");
  await page.keyboard.press("u");
  await page.waitForFunction(() => document.querySelectorAll(".chip").length === 1);
  await page.keyboard.press("u");
  await page.waitForFunction(() => !document.querySelector(".chip"));
  assert.notStrictEqual(await page.title(), "owned");
  assert.deepStrictEqual(page.trouble, []);
}

// The metric that the menu of a file shows is the page's, and links, lists and keys keep it.
async function metricsInAFile(browser) {
  const profiles = ["cpu", "live", "peak", "allocated", "leaked", "lost"].map((name, i) => ({ type: "sampled", name,
    unit: i ? "bytes" : "nanoseconds", startValue: 0, endValue: 1, samples: [[0], [0, 1]], weights: [1, 10 ** i] }));
  fs.writeFileSync(path.join(work, "metrics.json"), JSON.stringify({ $schema: "https://www.speedscope.app/file-format-schema.json",
    exporter: "fble-prof-report", shared: { frames: [{ name: "main" }, { name: "work" }] }, profiles }));
  const file = path.join(work, "metrics.html");
  execFileSync(report, ["--export", "html", "--metric", "live", "-o", file, path.join(work, "metrics.json")]);
  const page = await open(browser, { offline: true });
  await page.goto("file://" + file);
  await ready(page);
  const select = page.locator(".metric select");
  const shows = async (title, metric, kept) => {
    await page.waitForFunction((wanted) => document.querySelector("h1").textContent === wanted, title);
    assert.strictEqual((await select.locator("option:checked").textContent()).split(" ")[0], metric, title);
    assert.match(await page.textContent(".kept"), kept);
  };
  assert.deepStrictEqual(await select.locator("option").allTextContents(), ["cpu 2 ns", "live 11 B", "peak 101 B", "allocated 1001 B"]);
  assert.strictEqual(await page.getByRole("link", { name: "Compare" }).count(), 0);
  await shows("Overview", "live", /^live 11 B/);
  await select.selectOption({ label: "cpu 2 ns" });
  await page.waitForURL(/metric=cpu$/);
  await page.locator(".menu").getByRole("link", { name: "Self", exact: true }).click();
  await shows("Self", "cpu", /^cpu 2 ns/);
  await select.selectOption({ label: "live 11 B" });
  await page.waitForURL(/#\/self$/);
  await shows("Self", "live", /^live 11 B/);
  await select.selectOption({ label: "peak 101 B" });
  await page.waitForURL(/metric=peak$/);
  const row = page.locator("main tr[data-id]", { hasText: "work" });
  await row.hover();
  await row.locator("button[name=sel]").click();
  await page.waitForSelector(".chip");
  await page.locator("main").getByRole("link", { name: "work", exact: true }).click();
  await shows("work", "peak", /^kept 100 B of 101 B/);
  // A card's link leads to its own metric, also with lists.
  await page.locator(".menu").getByRole("link", { name: "Memory", exact: true }).click();
  await shows("Memory", "peak", /^kept 100 B/);
  const card = (name) => page.locator(".metric-title", { hasText: name });
  assert.strictEqual(await card("lost").locator("a").count(), 0, "a metric without pages");
  await card("allocated").getByRole("link", { name: "flame graph" }).click();
  await shows("Flame graph", "allocated", /^kept 1000 B of 1001 B/);
  await page.goBack();
  await shows("Memory", "peak", /^kept 100 B/);
  await card("live").getByRole("link", { name: "flame graph" }).click();
  await shows("Flame graph", "live", /^kept 10 B of 11 B/);
  assert.deepStrictEqual(page.trouble, []);
  await page.context().close();
}

(async () => {
  fs.writeFileSync(path.join(work, "folded"), folded);
  fs.writeFileSync(path.join(work, "before"), "main;parse;lex 100\nmain;run 100\n");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
  const served = await serve("--diff", path.join(work, "before"), path.join(work, "folded"));
  const page = await open(browser);
  await page.goto(served.link);
  assert.match(page.url(), /\/overview$/);
  const pages = ["/overview", "/flame", "/tree", "/self", "/dominated", "/edges", "/cliques", "/modules", "/diff",
    "/diff?base=before", "/exports", "/block/parse", "/path/parse,lex", "/find?q=le", "/source/lex"];
  const steps = { pages: async () => {
    for (const each of pages) {
      await page.goto(served.at(each.replace("base=before", "base=" + encodeURIComponent(path.join(work, "before")))));
      await ready(page);
      assert.notStrictEqual(await page.title(), "owned");
      assert.deepStrictEqual(page.trouble, [], each);
      // Names never push a page aside.
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${each} is too wide`);
    }
  }, lists: () => lists(page, served), keyboard: () => keyboard(page, served), flame: () => flame(page, served),
    flameAddress: () => flameAddress(page, browser, served), suggestions: () => suggestions(browser, served), graphStart: () => graphStart(browser),
    withoutScripts: () => withoutScripts(browser, served), accessible: () => accessible(browser, served, pages.slice(0, 4).concat("/block/parse", "/diff", "/self?sel=parse&exc=lex")),
    copies: () => copies(browser, served), phone: () => phone(browser, served, pages.filter((each) => !each.includes("base="))),
    live: () => live(browser), clicks: () => clicks(browser), tabs: () => tabs(browser), inAFile: () => inAFile(browser),
    metricsInAFile: () => metricsInAFile(browser) };
  let failed = 0;
  for (const [name, step] of Object.entries(steps)) {
    if (process.env.STEPS && !process.env.STEPS.split(" ").includes(name)) continue;
    const begin = Date.now();
    try { await step(); } catch (error) { console.log(`FAIL ${name}: ${error.message}`.slice(0, 3000)); ++failed; }
    console.log(`${name} ${((Date.now() - begin) / 1000).toFixed(1)} s`);
  }
  await browser.close();
  served.server.kill("SIGINT");
  process.exit(failed ? 1 : 0);
})();
