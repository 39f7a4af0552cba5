// What anyone must be able to read and use: names, contrast, the way of the Tab key.

/** Role and name of everything that is operated, as assistive technology has them. */
export async function controls(page) {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  const roles = ["textbox", "searchbox", "slider", "checkbox", "radio", "combobox", "button", "link", "progressbar", "image", "table"];
  const found = nodes
    .filter(({ ignored, role }) => !ignored && roles.includes(role?.value))
    .map(({ role, name }) => ({ role: role.value, name: (name?.value ?? "").trim() }));
  if (found.length < 50) throw new Error(`the accessibility tree has ${found.length} controls: expected the page's`);
  return found;
}

/** Contrast of every text that is shown, but that of what is disabled. */
export async function contrasts(page, which = "*") {
  const found = await page.evaluate((which) => {
    const channels = (colour) => {
      // Chromium writes computed colours as rgb(r, g, b) or rgba(r, g, b, a).
      const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
      return [r, g, b, a];
    };
    const over = ([r, g, b, a], below) => [r, g, b].map((value, i) => value * a + below[i] * (1 - a));
    const luminance = (colour) => {
      const [r, g, b] = colour.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (node) => {
      if (!node) return [255, 255, 255];
      const colour = channels(getComputedStyle(node).backgroundColor);
      return colour[3] === 1 ? colour.slice(0, 3) : over(colour, ground(node.parentElement));
    };
    const results = [];
    for (const node of document.querySelectorAll(`body ${which}`)) {
      const own = node.matches("input:not([type=range]), select") || [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim() !== "");
      if (!own || !node.checkVisibility() || node.closest(":disabled, .hidden, .skip, option, [hidden]")) continue;
      const style = getComputedStyle(node);
      let opacity = 1;
      for (let at = node; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
      const below = ground(node);
      const [r, g, b, a] = channels(node instanceof SVGElement ? style.fill : style.color);
      const [light, dark] = [luminance(over([r, g, b, a * opacity], below)), luminance(below)].sort((x, y) => y - x);
      results.push({ text: node.textContent.trim().slice(0, 30), of: node.className.baseVal ?? node.className, ratio: (light + 0.05) / (dark + 0.05) });
    }
    return results;
  }, which);
  if (found.length < 50) throw new Error(`found ${found.length} texts: expected the page's`);
  return found;
}

/** What can be operated and is not reached by the Tab key from the top of the page. */
export async function unreached(page) {
  await page.evaluate(() => {
    const all = document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']");
    const usable = [...all].filter((node) => !node.matches(":disabled") && node.checkVisibility());
    // Radio buttons of one name are one stop.
    const stops = usable.filter((node) => node.type !== "radio" || node.checked);
    window.to_reach = new Set(stops);
    window.stops = stops.length;
    document.activeElement?.blur();
  });
  const stops = await page.evaluate(() => window.stops);
  for (let i = 0; i < stops + 10; i++) {
    await page.keyboard.press("Tab");
    await page.evaluate(() => {
      const node = document.activeElement;
      if (window.to_reach.delete(node) && getComputedStyle(node).outlineStyle === "none") window.to_reach.add(`${node.id}: no outline`);
    });
  }
  return page.evaluate(() => [...window.to_reach].map((node) => node.id || node.outerHTML?.slice(0, 80) || String(node)));
}
