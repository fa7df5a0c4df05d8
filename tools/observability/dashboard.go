package main

import (
	"bytes"
	"encoding/json"
)

// row is a heading with the panels below it, from left to right.
type row struct {
	title  string
	panels []panel
}

// panel is one chart.
type panel struct {
	kind        string // timeseries, stat, table or state-timeline
	title       string
	description string // in plain words, with what to look for
	unit        string // in Grafana's spelling
	width       int    // of the 24 columns
	queries     []query
	// states are the words for values, with their colours; nil for numbers.
	states []state
	// A number is red from red on, 0 for never, and below least.
	red, least float64
}

// query is an expression with the name of its series.
type query struct {
	legend string
	expr   string
}

// state is what a value means.
type state struct {
	value, text, color string
}

// These are the heights of a row of panels, in Grafana's units of 30 pixels.
const panelHeight, statHeight = 8, 4

type object = map[string]any

// dashboard returns the file. A panel's id is a hundred times its row's number, plus its place in
// the row: a new panel in one row changes no id in another.
func dashboard() ([]byte, error) {
	panels, y := []object{}, 0
	for r, row := range rows {
		panels = append(panels, object{
			"id": (r + 1) * 100, "type": "row", "title": row.title, "collapsed": false, "panels": []object{},
			"gridPos": object{"x": 0, "y": y, "w": 24, "h": 1},
		})
		y++
		x, height := 0, 0
		for i, p := range row.panels {
			h := panelHeight
			if p.kind == "stat" {
				h = statHeight
			}
			if x+p.width > 24 {
				x, y, height = 0, y+height, 0
			}
			drawn := p.draw()
			drawn["id"] = (r+1)*100 + i + 1
			drawn["gridPos"] = object{"x": x, "y": y, "w": p.width, "h": h}
			panels = append(panels, drawn)
			x, height = x+p.width, max(height, h)
		}
		y += height
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(object{
		"uid": "kuadrant-dns", "title": "Kuadrant DNS", "description": "Servers with the CoreDNS plugin kuadrant: traffic, targets, sources, write-back and zones.",
		"tags": []string{"coredns", "dns", "kuadrant"}, "schemaVersion": 39, "version": 1, "editable": true, "graphTooltip": 1,
		"timezone": "", "refresh": "1m", "time": object{"from": "now-6h", "to": "now"}, "annotations": object{"list": []object{}},
		"links": []object{{
			"type": "link", "title": "What to do about an alert", "url": "https://github.com/coredns-kuadrant/kuadrant/blob/main/docs/runbooks.md",
			"icon": "doc", "targetBlank": true, "asDropdown": false, "includeVars": false, "keepTime": false, "tags": []string{}, "tooltip": "",
		}},
		"templating": object{"list": variables()}, "panels": panels,
	})
	return out.Bytes(), err
}

// source is the Prometheus server that the viewer has chosen.
func source() object { return object{"type": "prometheus", "uid": "${datasource}"} }

// variables are the choices above the panels.
func variables() []object {
	list := []object{{
		"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "refresh": 1, "hide": 0, "regex": "",
		"current": object{"text": "default", "value": "default"}, "options": []object{}, "multi": false, "includeAll": false,
	}}
	for _, v := range [][3]string{
		{"job", "Job", `label_values(coredns_kuadrant_source_synced, job)`},
		{"instance", "Server", `label_values(coredns_kuadrant_source_synced{job=~"$job"}, instance)`},
		{"cluster", "Cluster", `label_values(coredns_kuadrant_source_synced{job=~"$job"}, cluster)`},
		{"zone", "Zone", `label_values(coredns_kuadrant_serial{job=~"$job"}, zone)`},
	} {
		list = append(list, object{
			"name": v[0], "label": v[1], "type": "query", "datasource": source(), "definition": v[2],
			"query": object{"query": v[2], "refId": v[0]}, "refresh": 2, "sort": 1, "hide": 0, "regex": "",
			"multi": true, "includeAll": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"}, "options": []object{},
		})
	}
	return list
}

// draw returns a panel in Grafana's format.
func (p panel) draw() object {
	defaults := object{"unit": p.unit, "min": 0}
	if p.states != nil {
		mapped := object{}
		for i, s := range p.states {
			mapped[s.value] = object{"text": s.text, "color": s.color, "index": i}
		}
		defaults["mappings"] = []object{{"type": "value", "options": mapped}}
	}
	if p.red > 0 || p.least > 0 {
		steps := []object{{"color": "green", "value": nil}}
		if p.least > 0 {
			steps = []object{{"color": "red", "value": nil}, {"color": "green", "value": p.least}}
		}
		if p.red > 0 {
			steps = append(steps, object{"color": "red", "value": p.red})
		}
		defaults["color"] = object{"mode": "thresholds"}
		defaults["thresholds"] = object{"mode": "absolute", "steps": steps}
	}
	options, transformations := object{}, []object{}
	switch p.kind {
	case "timeseries":
		defaults["custom"] = object{"drawStyle": "line", "fillOpacity": 10, "showPoints": "never", "spanNulls": false}
		options["legend"] = object{"displayMode": "list", "placement": "bottom", "showLegend": true}
		options["tooltip"] = object{"mode": "multi", "sort": "desc"}
	case "stat":
		options["reduceOptions"] = object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}
		options["colorMode"], options["graphMode"], options["textMode"] = "value", "none", "auto"
		options["orientation"] = "auto"
	case "table":
		options["showHeader"] = true
		transformations = append(transformations, object{"id": "organize", "options": object{"excludeByName": object{"Time": true, "__name__": true}}})
	case "state-timeline":
		defaults["custom"] = object{"fillOpacity": 80, "lineWidth": 0}
		options["showValue"], options["mergeValues"], options["rowHeight"] = "never", true, 0.8
		options["legend"] = object{"displayMode": "list", "placement": "bottom", "showLegend": true}
		options["tooltip"] = object{"mode": "single", "sort": "none"}
	}
	targets := []object{}
	for i, q := range p.queries {
		t := object{"refId": string(rune('A' + i)), "datasource": source(), "expr": q.expr, "legendFormat": q.legend, "range": true, "instant": false}
		if p.kind == "table" || p.kind == "stat" {
			t["range"], t["instant"] = false, true
		}
		if p.kind == "table" {
			t["format"] = "table"
		}
		targets = append(targets, t)
	}
	return object{
		"type": p.kind, "title": p.title, "description": p.description, "datasource": source(), "targets": targets,
		"fieldConfig": object{"defaults": defaults, "overrides": []object{}}, "options": options, "transformations": transformations,
	}
}
