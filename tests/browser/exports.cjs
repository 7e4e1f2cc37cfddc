// exports.cjs CHROMIUM WORK SPEEDSCOPE: opens WORK/{plain,deep}.{html,speedscope} and compares with
// WORK/{plain,deep}.json. SCREENSHOTS=1 leaves pictures in WORK.
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const { chromium } = require("playwright-core");

const [executablePath, work, speedscope] = process.argv.slice(2);
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];

async function open(browser, trouble) {
  const context = await browser.newContext({ offline: true, viewport: { width: 1200, height: 800 } });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (message.type() === "error") trouble.push(message.text());
  });
  page.on("pageerror", (error) => trouble.push(String(error)));
  page.on("dialog", (dialog) => { trouble.push("dialog " + dialog.message()); dialog.dismiss(); });
  page.on("request", (request) => {
    if (!request.url().startsWith("file:")) trouble.push("request " + request.url());
  });
  return page;
}

async function checkPage(browser, name, totals) {
  const trouble = [];
  const page = await open(browser, trouble);
  await page.goto("file://" + path.join(work, name + ".html"));
  await page.waitForSelector("html[data-ready]");
  // The flame graph of each metric in the file shows all of it.
  const metrics = await page.$$eval(".metric option", (options) => options.map((option) => option.text.split(" ")[0]));
  assert.ok(metrics.includes(totals.metric), `${name}.html: ${metrics}`);
  const flameData = () => page.$eval("main .flame-data", (script) => JSON.parse(script.textContent));
  // The small picture begins behind a long beginning that nearly all of the cost is below.
  const small = await flameData();
  assert.strictEqual(small.total, totals.kept, name + ".html");
  assert.ok(small.down.cost[0] <= totals.kept && small.down.cost[0] >= 0.95 * totals.kept, name + ".html");
  await page.keyboard.press("f");
  await page.waitForFunction(() => document.querySelector("h1")?.textContent === "Flame graph");
  const data = await flameData();
  assert.strictEqual(data.total, totals.kept, name + ".html");
  assert.strictEqual(data.down.cost[0], totals.kept, name + ".html");
  // Hover explains, search finds.
  const box = await page.locator(".flame canvas").boundingBox();
  await page.mouse.move(box.x + 5, box.y + 27);
  assert.match(await page.textContent(".flame-tip"), /\d%/);
  await page.fill(".flame-search", "spin");
  assert.match(await page.textContent(".flame-found"), /%/);
  if (process.env.SCREENSHOTS) await page.screenshot({ path: path.join(work, name + ".png") });
  assert.deepStrictEqual(trouble, [], name + ".html");
}

// speedscope's export of its import: the end value of every profile.
async function checkSpeedscope(browser, name, totals) {
  const trouble = [];
  const page = await open(browser, trouble);
  const loader = path.join(work, name + ".js");
  const data = fs.readFileSync(path.join(work, name + ".speedscope")).toString("base64");
  fs.writeFileSync(loader, `speedscope.loadFileFromBase64("${name}.json", "${data}")`);
  await page.goto("file://" + speedscope + "#localProfilePath=" + loader);
  const download = page.waitForEvent("download");
  await page.getByText("Export").click();
  const saved = JSON.parse(fs.readFileSync(await (await download).path(), "utf8"));
  const got = {};
  for (const profile of saved.profiles) {
    got[profile.name] = profile.endValue - profile.startValue;
    assert.strictEqual(profile.events ? profile.events.at(-1).at : 0, profile.endValue);
  }
  const wanted = {};
  for (const metric of totals.metrics) if (metric.total > 0) wanted[metric.name] = metric.total;
  assert.deepStrictEqual(got, wanted, name + ".speedscope");
  assert.deepStrictEqual(trouble, [], name + ".speedscope");
}

(async () => {
  const browser = await chromium.launch({ executablePath, args: flags });
  for (const name of ["plain", "deep"]) {
    const totals = JSON.parse(fs.readFileSync(path.join(work, name + ".json"), "utf8"));
    await checkPage(browser, name, totals);
    await checkSpeedscope(browser, name, totals);
  }
  await browser.close();
})().catch((error) => {
  console.error("FAIL", error.message);
  process.exit(1);
});
