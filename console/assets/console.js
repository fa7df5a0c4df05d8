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
	let tag = "", wait = every, seen = new Date(), timer = 0, asking = null;

	// closed tells which details are closed, by their ids, and where the focus is.
	const remember = (root) => ({
		open: new Map([...root.querySelectorAll("details[id]")].map((d) => [d.id, d.open])),
		focus: root.contains(document.activeElement) ? path(root, document.activeElement) : null,
	});
	// path is where an element stands, as the places among its neighbours.
	const path = (root, e) => {
		const steps = [];
		for (; e !== root; e = e.parentNode) steps.unshift([...e.parentNode.children].indexOf(e));
		return steps;
	};
	const restore = (root, was) => {
		for (const d of root.querySelectorAll("details[id]")) {
			if (was.open.has(d.id)) d.open = was.open.get(d.id);
		}
		if (was.focus) {
			let e = root;
			for (const i of was.focus) e = e && e.children[i];
			if (e) e.focus({preventScroll: true});
		}
	};
	const show = (text) => {
		const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("live");
		if (!fresh) return;
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
	const look = async () => {
		asking = new AbortController();
		try {
			const answer = await fetch(location.href, {
				headers: tag ? {"If-None-Match": tag} : {}, cache: "no-store", credentials: "same-origin", signal: AbortSignal.any([asking.signal, AbortSignal.timeout(slowest)]),
			});
			if (answer.status === 200) {
				tag = answer.headers.get("ETag") || "";
				show(await answer.text());
			}
			if (answer.status === 200 || answer.status === 304) {
				seen = new Date();
				wait = every;
				lost.hidden = true;
			} else {
				wait = Math.min(2 * wait, slowest); // too much is asked for, or it has no answer yet
			}
		} catch (e) {
			if (asking.signal.aborted) return;
			wait = Math.min(2 * wait, slowest);
			lostAt.textContent = seen.toISOString();
			lost.hidden = false;
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
	addEventListener("pagehide", () => { clearTimeout(timer); if (asking) asking.abort(); });
	addEventListener("pageshow", next);
	next();
})();
