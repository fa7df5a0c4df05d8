// Keeps the part of the page that is live as it is on the server. Without this, the page is as it
// was when it was loaded.
"use strict";
// A click on what can be copied, or the key Enter, copies it, where the browser allows that; it is selected in any case.
for (const on of ["click", "keydown"]) {
	document.addEventListener(on, (e) => {
		const code = e.target.closest(".copy");
		if (!code || on === "keydown" && e.key !== "Enter" && e.key !== " ") return;
		e.preventDefault();
		getSelection().selectAllChildren(code);
		if (!navigator.clipboard) return;
		navigator.clipboard.writeText(code.textContent).then(() => {
			code.classList.add("copied");
			document.getElementById("announce").textContent = "copied";
		}, () => {});
	});
}
(() => {
	const every = 2000; // milliseconds between looks
	const slowest = 30000; // the same while the server does not answer
	const longest = 300000; // the same where the server says how long to wait
	const live = document.getElementById("live");
	if (!live) return;
	const announce = document.getElementById("announce");
	const lost = document.getElementById("lost");
	const lostAt = document.getElementById("lost-at");
	const lostWhy = document.getElementById("lost-why");
	const lostToken = document.getElementById("lost-token");
	let title = document.title;
	const busy = 10000; // milliseconds that the server may say that it has no answer yet
	let tag = "", wait = every, seen = new Date(), timer = 0, asking = null;
	let held = false; // while something is being clicked on, it stays

	// label names an element for as long as it is about the same thing: others may come and go around it.
	const label = (e) => {
		if (e.nodeType !== Node.ELEMENT_NODE) return "";
		const own = e.id || e.getAttribute("href") || e.getAttribute("aria-labelledby");
		if (own || !e.matches("tr, li")) return own || "";
		const head = e.localName === "tr" ? e.querySelector("th") : e;
		const named = head && head.querySelector("[id], [href]");
		if (named) return named.id || named.getAttribute("href");
		return head && head !== e ? head.textContent : "";
	};
	// labels returns the labels of those nodes that have one. Of several that are alike, each has its number.
	const labels = (nodes) => {
		const seen = new Map(), all = new Map();
		for (const e of nodes) {
			const own = label(e) && `${e.localName} ${label(e)}`;
			if (!own) continue;
			seen.set(own, (seen.get(own) || 0) + 1);
			all.set(e, `${own} ${seen.get(own)}`);
		}
		return all;
	};
	// patch makes a node what another one is, which is of the same kind, and changes nothing that is as it should be: what
	// is selected stays so, the focus and what is scrolled stay where they are, and nothing is loaded again.
	const patch = (e, fresh) => {
		if (e.isEqualNode(fresh)) return;
		if (e.nodeType !== Node.ELEMENT_NODE) {
			patchText(e, fresh.data);
			return;
		}
		const own = (a) => a.name === "open" && e.localName === "details"; // whoever reads it opens and closes it
		for (const a of [...e.attributes]) {
			if (!own(a) && !fresh.hasAttribute(a.name)) e.removeAttribute(a.name);
		}
		for (const a of fresh.attributes) {
			if (!own(a) && e.getAttribute(a.name) !== a.value) e.setAttribute(a.name, a.value);
		}
		patchChildren(e, fresh);
	};
	// patchText changes that part of a text that differs.
	const patchText = (e, text) => {
		const was = e.data, most = Math.min(was.length, text.length);
		let head = 0, tail = 0;
		while (head < most && was[head] === text[head]) head++;
		while (tail < most - head && was[was.length - 1 - tail] === text[text.length - 1 - tail]) tail++;
		e.replaceData(head, was.length - head - tail, text.slice(head, text.length - tail));
	};
	const patchChildren = (e, fresh) => {
		const was = [...e.childNodes], is = [...fresh.childNodes];
		let end = null; // what stands behind those that differ
		while (was.length && is.length && was.at(-1).isEqualNode(is.at(-1))) {
			end = was.pop();
			is.pop();
		}
		let same = 0;
		while (same < was.length && same < is.length && was[same].isEqualNode(is[same])) same++;
		was.splice(0, same);
		is.splice(0, same);
		const had = labels(was), wants = labels(is), wanted = new Set(wants.values());
		const by = new Map([...had].map(([node, own]) => [own, node]));
		let at = was[0] || end;
		const kept = () => had.has(at) && wanted.has(had.get(at));
		const drop = () => {
			const next = at.nextSibling;
			at.remove();
			at = next;
		};
		for (const f of is) {
			const known = by.get(wants.get(f));
			if (known) {
				while (at !== known && at !== end && !kept()) drop();
				if (at === known) at = at.nextSibling;
				else e.insertBefore(known, at);
				patch(known, f);
				continue;
			}
			while (at !== end && had.has(at) && !kept()) drop();
			if (at !== end && !had.has(at) && !wants.has(f) && at.nodeName === f.nodeName) {
				const alike = at;
				at = at.nextSibling;
				patch(alike, f);
			} else {
				e.insertBefore(f, at);
			}
		}
		while (at !== end) drop();
	};
	// path is where an element stands, as the places among its neighbours.
	const path = (e) => {
		const steps = [];
		for (; e !== live; e = e.parentNode) steps.unshift([...e.parentNode.children].indexOf(e));
		return steps;
	};
	// refocus gives the focus back to what had it, or to what stands where that has gone.
	const refocus = (e, steps) => {
		if (e === document.activeElement) return;
		if (!e.isConnected) {
			const href = e.getAttribute("href");
			e = live;
			for (const i of steps) e = e && e.children[i];
			if (href) e = live.querySelector(`a[href="${CSS.escape(href)}"]`) || e;
		}
		if (e) e.focus({preventScroll: true});
	};
	const show = (fresh) => {
		const e = document.activeElement, steps = e !== live && live.contains(e) ? path(e) : null;
		const summary = fresh.dataset.summary, changed = summary !== live.dataset.summary;
		live.dataset.summary = summary;
		patchChildren(live, fresh);
		if (steps) refocus(e, steps);
		count();
		if (!changed) return;
		announce.textContent = summary;
		live.classList.remove("changed");
		void live.offsetWidth; // so that what moves begins again
		live.classList.add("changed");
	};
	// complete brings what stands around the live part, where the server could not show it when the page was opened.
	const complete = (page) => {
		const form = page.querySelector("main .filter"), head = document.querySelector("h1"), foot = document.querySelector("footer");
		title = page.title || title;
		patch(head, page.querySelector("h1") || head);
		if (form && !document.querySelector("main .filter")) live.before(document.adoptNode(form));
		const server = document.querySelector(".server");
		patch(server, page.querySelector(".server") || server);
		patch(foot, page.querySelector("footer") || foot);
	};
	// count puts the number of alarms into the tab's title.
	const count = () => {
		const n = live.querySelectorAll(".alarm:not([role])").length;
		document.title = (n ? `(${n}) ` : "") + title;
	};
	// stale says that what is shown is not what the server has.
	const stale = (text) => {
		const why = text.replace(/: try again in [^.]*/, ""); // it comes by itself, and would be read aloud each time
		lostToken.hidden = why !== "";
		if (!lost.hidden && lostWhy.textContent === why) return;
		lostWhy.textContent = why;
		lostAt.dateTime = seen.toISOString();
		lostAt.textContent = lostAt.dateTime.slice(0, 19).replace("T", " ") + " UTC";
		lost.hidden = false;
	};
	const fine = () => {
		seen = new Date();
		wait = every;
		lost.hidden = true;
	};
	// later makes the next look come later: as late as the server says, where it does.
	const later = (answer) => {
		const said = 1000 * Number(answer && answer.headers.get("Retry-After"));
		wait = Math.max(Math.min(2 * wait, slowest), said > 0 ? Math.min(said, longest) : 0);
	};
	// ask asks for the page. It gives up after a while, in browsers that are older than AbortSignal.any too.
	const ask = async (asking) => {
		const headers = {"Kuadrant-Follow": "1"};
		if (tag) headers["If-None-Match"] = tag;
		let signal = asking.signal, late = 0;
		if (AbortSignal.any) signal = AbortSignal.any([signal, AbortSignal.timeout(slowest)]);
		else late = setTimeout(() => asking.abort("late"), slowest);
		try {
			const answer = await fetch(location.href, {headers, cache: "no-store", credentials: "same-origin", signal});
			return [answer, answer.status === 304 ? "" : await answer.text()];
		} finally {
			clearTimeout(late);
		}
	};
	const look = async () => {
		const now = asking = new AbortController();
		try {
			const [answer, text] = await ask(now);
			if (answer.status === 401) { // it stays so, until the browser asks for the new token
				stale("");
				return;
			}
			const page = text ? new DOMParser().parseFromString(text, "text/html") : null;
			const fresh = page && page.getElementById("live");
			if (fresh && !held) {
				tag = answer.headers.get("ETag") || "";
				complete(page);
				show(fresh);
			}
			if (fresh || answer.status === 304) {
				fine();
			} else {
				later(answer);
				const momentary = answer.status === 429 || answer.status === 503;
				const said = page && page.querySelector("main .alarm");
				if (!momentary || new Date() - seen > busy) stale(`The server does not show this now${said ? ": " + said.textContent : ""}.`);
			}
		} catch (e) {
			if (now.signal.aborted && now.signal.reason !== "late") return;
			later(null);
			stale("The server does not answer.");
		}
		next();
	};
	const next = () => {
		clearTimeout(timer);
		if (!document.hidden) timer = setTimeout(look, wait);
	};
	document.addEventListener("visibilitychange", () => {
		if (document.hidden) {
			clearTimeout(timer);
		} else {
			wait = every;
			clearTimeout(timer);
			timer = setTimeout(look, 0);
		}
	});
	let holding = 0; // the end of it does not always come: of a scrollbar, say
	const letGo = () => {
		held = false;
		clearTimeout(holding);
	};
	addEventListener("pointerdown", () => {
		letGo();
		held = true;
		holding = setTimeout(letGo, slowest);
	});
	for (const end of ["pointerup", "pointercancel", "dragend", "contextmenu", "blur"]) addEventListener(end, letGo);
	addEventListener("pagehide", () => { clearTimeout(timer); if (asking) asking.abort(); });
	addEventListener("pageshow", next);
	count();
	next();
})();
