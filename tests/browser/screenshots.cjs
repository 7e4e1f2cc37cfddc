// screenshots.cjs CHROMIUM REPORT PROFILE BASE SIZES: pictures of the pages (see scripts/screenshots).
"use strict";
const { spawn } = require("child_process");
const { chromium } = require("playwright-core");

const [executablePath, report, profile, base, sizes] = process.argv.slice(2);
const pages = { overview: "/overview", flame: "/flame", graph: "/edges", diff: "/diff" };

(async () => {
  const server = spawn(report, ["--serve", ...(base ? ["--diff", base] : []), profile], { stdio: ["ignore", "pipe", "inherit"] });
  const link = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data).trim())));
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  const wanted = sizes ? sizes.split(" ") : ["1100x760:light"];
  for (const each of wanted) {
    const [, width, height, colorScheme] = each.match(/^(\d+)x(\d+):(light|dark)$/);
    const context = await browser.newContext({ viewport: { width: Number(width), height: Number(height) }, colorScheme });
    const page = await context.newPage();
    await page.goto(link);
    const found = await (await page.request.get(new URL("/dominated?format=json&n=8", link).href)).json();
    const shown = { ...pages, block: `/block/${encodeURIComponent(found.rows[Math.min(5, found.rows.length - 1)].name)}` };
    if (base) shown.diff = `/diff?base=${encodeURIComponent(base)}`;
    for (const [name, to] of Object.entries(shown)) {
      await page.goto(new URL(to, link).href);
      await page.waitForSelector("html[data-ready]");
      await page.waitForTimeout(200);
      await page.screenshot({ path: sizes ? `build/screenshots/${name}-${each.replace(":", "-")}.png` : `docs/page/${name}.png` });
    }
    await context.close();
  }
  await browser.close();
  server.kill("SIGINT");
})();
