package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// options holds the flags that all commands share.
type options struct {
	filenames []string
	corefile  string
	zones     []string
	geoip     []string
	nets      string
	server    string
	tokenFile string
	timeout   time.Duration
	output    string
	// byDefault is true if corefile is ./Corefile because no flag names anything.
	byDefault bool
	// mayBeEmpty is true if filenames are the manifests that others are applied to: there may be none yet.
	mayBeEmpty bool
}

// Output formats.
const (
	outputTable = "table"
	outputJSON  = "json"
	outputYAML  = "yaml"
)

var outputs = []string{outputTable, outputJSON, outputYAML}

// flags registers the flags.
func (o *options) flags(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.filenames, "filename", "f", nil,
		"read manifests: [CLUSTER=]PATH of a directory, a file, or - for standard input; repeatable. "+
			"A directory is a cluster of its name, anything else is "+defaultCluster)
	f.StringVar(&o.corefile, "corefile", "", "read zones and settings from a Corefile, and manifests if -f names none")
	f.StringArrayVar(&o.zones, "zone", nil, "serve this zone, without a Corefile; repeatable")
	f.StringArrayVar(&o.geoip, "geoip", nil, "locate clients with this mmdb database, instead of those of the Corefile; repeatable")
	f.StringVar(&o.nets, "nets", "", "locate clients with this file of networks and geo codes before any database, instead of that of the Corefile")
	f.StringVar(&o.server, "server", "", "ask the console of a server, such as http://localhost:8090 or localhost:8090")
	f.StringVar(&o.tokenFile, "token-file", "", "send the token in this file to the server")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "give up on a server after this time")
	f.StringVarP(&o.output, "output", "o", outputTable, "output format: "+strings.Join(outputs, ", "))
}

// check returns an error if the flags contradict each other.
func (o *options) check() error {
	switch {
	case !slices.Contains(outputs, o.output):
		return fmt.Errorf("--output %q must be one of %s", o.output, strings.Join(outputs, ", "))
	case o.tokenFile != "" && o.corefile != "":
		return errors.New("--token-file is for a server and --corefile for manifests; remove one of them")
	case o.timeout <= 0:
		return fmt.Errorf("--timeout %v must be greater than 0", o.timeout)
	}
	return nil
}
