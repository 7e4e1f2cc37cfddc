// flame_frames.cjs CHROMIUM REPORT PROFILE: how smoothly a flame graph moves in a browser. Prints for
// each movement the milliseconds between frames: median, 95th percentile, longest. Run by
// scripts/flame_frames.
"use strict";
const { spawn } = require("child_process");
const { chromium } = require("playwright-core");

const [executablePath, report, profile] = process.argv.slice(2);
const steps = 240;

/** Moves the mouse by `each` for a while. Returns the intervals between the browser's frames. */
async function intervals(page, each) {
  await page.evaluate(() => {
    window.frameTimes = [];
    const count = (time) => { window.frameTimes.push(time); window.counting = requestAnimationFrame(count); };
    window.counting = requestAnimationFrame(count);
  });
  for (let i = 0; i < steps; ++i) await each(i);
  const times = await page.evaluate(() => { cancelAnimationFrame(window.counting); return window.frameTimes; });
  return times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
}

function tell(what, sorted) {
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))].toFixed(1);
  console.log(`${what}\t${sorted.length} frames\tmedian ${at(0.5)}\t95th ${at(0.95)}\tlongest ${at(1)}`);
}

(async () => {
  const server = spawn(report, ["--serve", profile], { stdio: ["ignore", "pipe", "inherit"] });
  const link = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data).trim())));
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  for (const [width, height] of [[1280, 800], [2560, 1400]]) {
    const page = await (await browser.newContext({ viewport: { width, height } })).newPage();
    await page.goto(link);
    await page.goto(new URL("/flame", link).href);
    await page.waitForSelector("html[data-ready]");
    const canvas = page.locator(".flame canvas"), box = await canvas.boundingBox();
    const y = box.y + 150, middle = box.x + box.width / 2;
    const wheel = (_, deltaY) => canvas.dispatchEvent("wheel", { deltaY, ctrlKey: true, bubbles: true, cancelable: true, clientX: middle, clientY: y });
    tell(`${width} px, zoom`, await intervals(page, (i) => wheel(page, i < steps / 2 ? -8 : 8)));
    for (let i = 0; i < 10; ++i) await wheel(page, -20);
    await page.mouse.move(middle, y);
    await page.mouse.down();
    tell(`${width} px, pan`, await intervals(page, (i) => page.mouse.move(middle + 300 * Math.sin(i / 20), y)));
    await page.mouse.up();
    tell(`${width} px, hover`, await intervals(page, (i) => page.mouse.move(middle + 500 * Math.sin(i / 20), y + 100 * Math.cos(i / 13))));
    await page.context().close();
  }
  await browser.close();
  server.kill("SIGINT");
})();
