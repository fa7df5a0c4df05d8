// What access_test.go checks in a page. Each function returns a list of what is wrong.

// rgba returns the four parts of a computed colour.
function rgba(text) {
	const parts = text.match(/[\d.]+/g).map(Number);
	return parts.length === 3 ? [...parts, 1] : parts;
}

// over returns the colour that one gives on top of another.
function over(top, under) {
	return [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
}

// luminance is that of WCAG 2.2.
function luminance(c) {
	const [r, g, b] = c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function ratio(a, b) {
	const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
	return (high + 0.05) / (low + 0.05);
}

// backdrop returns the colour behind an element.
function backdrop(e) {
	const layers = [];
	for (; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
	return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
}

// seen reports whether an element is shown to those who see.
function seen(e) {
	const s = getComputedStyle(e);
	return e.checkVisibility({visibilityProperty: true}) && s.clipPath === "none" && !e.closest(".unseen") && ![...parents(e)].some((p) => getComputedStyle(p).clipPath !== "none");
}

function* parents(e) {
	for (; e; e = e.parentElement) yield e;
}

// short names an element.
function short(e) {
	return e.localName + (e.id ? "#" + e.id : "") + (e.classList.length ? "." + [...e.classList].join(".") : "") + ` "${(e.value || e.textContent).trim().slice(0, 30)}"`;
}

// contrast lists the texts whose contrast is lower than least.
function contrast(least) {
	const faults = new Set();
	const judge = (e, style, what) => {
		const under = backdrop(e), found = ratio(over(rgba(style.color), under), under);
		if (found < least) faults.add(`${what}${short(e)} has a contrast of ${found.toFixed(2)}`);
	};
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const e = walker.currentNode.parentElement;
		if (walker.currentNode.data.trim() && !e.closest("svg, datalist, script") && seen(e)) judge(e, getComputedStyle(e), "");
	}
	for (const e of document.querySelectorAll("input:not([type=hidden])")) {
		judge(e, getComputedStyle(e), "the value of ");
		if (e.placeholder) judge(e, getComputedStyle(e, "::placeholder"), "the placeholder of ");
	}
	for (const e of document.querySelectorAll("[data-label]")) {
		const before = getComputedStyle(e, "::before");
		if (before.content !== "none") judge(e, before, "what stands before ");
	}
	return [...faults];
}

// touch lists what is less high or wide than least pixels, but for links in sentences, and countries on the map: a table has the same.
function touch(least) {
	const faults = [];
	for (const e of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary")) {
		const box = e.getBoundingClientRect();
		const sentence = e.localName === "a" && [...e.parentElement.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim().length > 1);
		if (!seen(e) || e.closest("svg") || sentence || box.right < 0) continue;
		if (box.height < least || box.width < least) faults.push(`${short(e)} is ${Math.round(box.width)} by ${Math.round(box.height)} pixels`);
	}
	return faults;
}

// wider lists what reaches beyond a width, and is not within something that can be scrolled.
function wider(width) {
	return [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > width + 1 && !e.parentElement.closest(".scroll, pre, svg")).map(short);
}

// spelled lists the texts that stand in lines of a few letters each.
function spelled() {
	const faults = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
	while (walker.nextNode()) {
		const text = walker.currentNode, e = text.parentElement, letters = text.data.trim().length;
		if (letters < 4 || e.closest("svg, datalist, script, select") || !seen(e)) continue;
		range.selectNodeContents(text);
		const lines = new Set([...range.getClientRects()].filter((r) => r.width > 0).map((r) => Math.round(r.top))).size;
		if (lines > 2 && letters / lines < 4) faults.push(`${short(e)} stands in ${lines} lines`);
	}
	return faults;
}
