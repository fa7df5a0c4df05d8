package kuadrant

import (
	"strings"

	clog "github.com/coredns/coredns/plugin/pkg/log"

	"github.com/coredns-kuadrant/kuadrant/internal/engine"
)

const pluginName = engine.PluginName

var log = clog.NewWithPlugin(pluginName)

// label returns text in valid UTF-8, as labels must be.
func label(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
