// Keeps the part of the page that is live as it is on the server. Without this, the page is as it
// was when it was loaded.
"use strict";
(() => {
	const every = 2000; // milliseconds between looks
	const slowest = 30000; // the same while the server does not answer
	const live = () => document.getElementById("live");
	if (!live()) return;
	const announce = document.getElementById("announce");
	const lost = document.getElementById("lost");
	const lostAt = document.getElementById("lost-at");
	const lostWhy = document.getElementById("lost-why");
	const busy = 10000; // milliseconds that the server may say that it has no answer yet
	let tag = "", wait = every, seen = new Date(), timer = 0, asking = null;
	let last = live().innerHTML; // as the server has sent it
	let held = false; // while something is being clicked on, it stays

	// path is where an element stands, as the places among its neighbours.
	const path = (root, e) => {
		const steps = [];
		for (; e !== root; e = e.parentNode) steps.unshift([...e.parentNode.children].indexOf(e));
		return steps;
	};
	// name finds an element where others have come or gone before it; "" where nothing does.
	const name = (e) => {
		if (e.localName === "summary" && e.parentNode.id) return `#${CSS.escape(e.parentNode.id)} > summary`;
		return e.hasAttribute("href") ? `a[href="${CSS.escape(e.getAttribute("href"))}"]` : "";
	};
	const wide = (root) => [...root.querySelectorAll(".scroll, pre")];
	// remember notes which details are closed, by their ids, where the focus is, and what is scrolled.
	const remember = (root) => {
		const e = document.activeElement, focused = e !== root && root.contains(e);
		return {
			open: new Map([...root.querySelectorAll("details[id]")].map((d) => [d.id, d.open])),
			path: focused ? path(root, e) : null, name: focused ? name(e) : "",
			scrolled: wide(root).map((e) => e.scrollLeft),
		};
	};
	const restore = (root, was) => {
		for (const d of root.querySelectorAll("details[id]")) {
			if (was.open.has(d.id)) d.open = was.open.get(d.id);
		}
		wide(root).forEach((e, i) => { if (was.scrolled[i]) e.scrollLeft = was.scrolled[i]; });
		if (was.path) {
			let e = root;
			for (const i of was.path) e = e && e.children[i];
			if (was.name && !(e && e.matches(was.name))) e = root.querySelector(was.name) || e;
			if (e) e.focus({preventScroll: true});
		}
	};
	const show = (fresh) => {
		const html = fresh.innerHTML;
		if (html === last) return;
		last = html;
		const old = live();
		const was = remember(old);
		const summary = fresh.dataset.summary;
		const changed = summary !== old.dataset.summary;
		old.replaceWith(document.adoptNode(fresh));
		restore(live(), was);
		if (changed) {
			announce.textContent = summary;
			live().classList.add("changed");
		}
	};
	// stale says that what is shown is not what the server has.
	const stale = (why) => {
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
	const look = async () => {
		asking = new AbortController();
		try {
			const answer = await fetch(location.href, {
				headers: tag ? {"If-None-Match": tag} : {}, cache: "no-store", credentials: "same-origin", signal: AbortSignal.any([asking.signal, AbortSignal.timeout(slowest)]),
			});
			const page = answer.status === 304 ? null : new DOMParser().parseFromString(await answer.text(), "text/html");
			const fresh = page && page.getElementById("live");
			if (fresh && !held) {
				tag = answer.headers.get("ETag") || "";
				show(fresh);
			}
			if (fresh || answer.status === 304) {
				fine();
			} else {
				wait = Math.min(2 * wait, slowest);
				const momentary = answer.status === 429 || answer.status === 503;
				const said = page && page.querySelector("main .alarm");
				if (!momentary || new Date() - seen > busy) stale(`The server does not show this now${said ? ": " + said.textContent : ""}.`);
			}
		} catch (e) {
			if (asking.signal.aborted) return;
			wait = Math.min(2 * wait, slowest);
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
	addEventListener("pointerdown", () => { held = true; });
	for (const end of ["pointerup", "pointercancel", "dragend", "contextmenu", "blur"]) addEventListener(end, () => { held = false; });
	addEventListener("pagehide", () => { clearTimeout(timer); if (asking) asking.abort(); });
	addEventListener("pageshow", next);
	next();
})();
