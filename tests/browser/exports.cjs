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
  const shown = () => page.getAttribute("#facts", "data-total").then(Number);
  for (let i = 0; i < totals.metrics.length; ++i) {
    await page.selectOption("#metric", String(i));
    assert.strictEqual(await shown(), totals.metrics[i].total, `${name}.html: ${totals.metrics[i].name}`);
  }
  await page.selectOption("#metric", String(totals.metrics.findIndex((m) => m.name === totals.metric)));
  // Hover explains, click zooms, Escape goes back, i inverts, search finds.
  const box = await page.locator("#flame").boundingBox();
  await page.mouse.move(box.x + 5, box.y + 27);
  assert.match(await page.textContent("#tip"), /100|\d+(\.\d+)?%/);
  if (process.env.SCREENSHOTS) await page.screenshot({ path: path.join(work, name + ".png") });
  await page.mouse.click(box.x + 5, box.y + 27);
  assert.notStrictEqual(await page.textContent("#trail"), "");
  await page.keyboard.press("Escape");
  assert.strictEqual(await page.textContent("#trail"), "");
  await page.keyboard.press("i");
  assert.strictEqual(await page.getAttribute("#invert", "aria-pressed"), "true");
  assert.strictEqual(await shown(), totals.kept);
  await page.fill("#search", "spin");
  assert.match(await page.textContent("#found"), /%/);
  assert.ok((await page.locator("#rows tr").count()) >= 1);
  if (process.env.SCREENSHOTS) await page.screenshot({ path: path.join(work, name + "-inverted.png") });
  assert.deepStrictEqual(trouble, [], name + ".html");
}

// speedscope's own export of what it imported: every profile's end.
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
