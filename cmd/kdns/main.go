// Command kdns says what the kuadrant plugin answers, and why: from manifests alone, or of a
// server that runs. Installed as kubectl-kdns it is `kubectl kdns`, and as kubectl_complete-kdns what
// kubectl asks to complete that.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coredns-kuadrant/kuadrant"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/internal/near"
)

// patience is how long an interrupted command may take to print what it has found.
const patience = time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { // reading stdin ignores the context
		time.Sleep(patience)
		_, _ = fmt.Fprintln(os.Stderr, "interrupted")
		os.Exit(exitFailed)
	})
	code := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with its arguments and streams; args[0] is the program's name.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	plugin, completes := calledAs(args[0])
	args = args[1:]
	if completes {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	root := newRoot(plugin)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	addCobras(root)
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitFine
	}
	if errors.Is(err, errFound) {
		return exitFound
	}
	_, _ = fmt.Fprintf(printable(errs), "%s: %v\n", root.CommandPath(), withForm(c, err))
	if failed := (*failedError)(nil); errors.As(err, &failed) {
		return exitFailed
	}
	return exitUsage
}

// withForm adds the usage of the command, or a pointer to its help, to an argument error.
func withForm(c *cobra.Command, err error) error {
	switch {
	case strings.Contains(err.Error(), " --help"):
	case c.HasSubCommands(): // it needs a subcommand
		word := ""
		_, _ = fmt.Sscanf(err.Error(), "unknown command %q", &word)
		return fmt.Errorf("%w; %ssee %s --help", err, instead(word, func(yield func(string) bool) {
			for _, sub := range c.Commands() {
				if sub.IsAvailableCommand() && !yield(sub.Name()) {
					return
				}
			}
		}), c.CommandPath())
	case c.ValidateArgs(c.Flags().Args()) != nil:
		return fmt.Errorf("%w; write %s, or see %s --help", err, c.UseLine(), c.CommandPath())
	}
	if of, ok := inspect.IsRequest(err); ok {
		for _, flag := range fieldFlags[of.Field] {
			if rest, begins := strings.CutPrefix(err.Error(), of.Field+": "); begins && c.Flags().Lookup(flag) != nil {
				return fmt.Errorf("--%s: %s", flag, rest)
			}
		}
	}
	return err
}

// fieldFlags maps the field of a question to the flags that set it.
var fieldFlags = map[string][]string{"zone": {"in"}, "state": {"state"}, "type": {"type", "types"}, "from": {"from"}}

// withFlag adds similar flags, and where to find all of them, to a flag error.
func withFlag(c *cobra.Command, err error) error {
	word := ""
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		word = "--" + unknown.GetSpecifiedName()
	}
	return fmt.Errorf("%w; %ssee %s --help", err, instead(word, func(yield func(string) bool) {
		more := true
		c.Flags().VisitAll(func(f *pflag.Flag) { more = more && yield("--"+f.Name) })
	}), c.CommandPath())
}

// mostNear is the maximum number of suggestions.
const mostNear = 3

// instead suggests known words similar to word; "" for none.
func instead(word string, known iter.Seq[string]) string {
	found := near.Matches(word, known, mostNear)
	if len(found) == 0 {
		return ""
	}
	return "write " + strings.Join(found, " or ") + ", or "
}

// calledAs reports whether the program's path is that of a kubectl plugin, and whether that plugin's command line is
// to be completed.
func calledAs(path string) (plugin, completes bool) {
	name := filepath.Base(path)
	completes = strings.HasPrefix(name, "kubectl_complete-")
	return completes || strings.HasPrefix(name, "kubectl-"), completes
}

// newRoot returns the root command, of the program or of the kubectl plugin.
func newRoot(plugin bool) *cobra.Command { return newRootOf(plugin, new(options)) }

// newRootOf is newRoot with the options that flags are stored in.
func newRootOf(plugin bool, o *options) *cobra.Command {
	root := &cobra.Command{
		Use:   "kdns",
		Short: "Show what the kuadrant plugin of CoreDNS answers, and why",
		Long: `Show what the kuadrant plugin of CoreDNS answers, and why.

The objects come either from manifests (-f, --corefile), which are compiled as the
server would, or from a running server (--server), whose Corefile has the property console. Without
such a flag, they come from ./Corefile and the manifests that it names.`,
		SilenceUsage: true, SilenceErrors: true, DisableSuggestions: true, // withForm prints both on one line
		Version:           kuadrant.Version(),
		PersistentPreRunE: func(*cobra.Command, []string) error { return o.check() },
	}
	if plugin { // kubectl has its own completion, which runs kubectl_complete-kdns
		root.Use = "kubectl-kdns"
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl kdns"}
	}
	root.SetFlagErrorFunc(withFlag)
	o.flags(root.PersistentFlags())
	root.AddCommand(newExplain(o), newList(o), newPreview(o), newCheck(o), newCompare(o), newGroup(o))
	completeValues(root)
	return root
}

// addCobras adds cobra's own commands. They write to root's current output. Unknown arguments to them are errors, not
// a reason to print help.
func addCobras(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Run, c.RunE = nil, help
		case "completion":
			c.RunE = needsCommand("name the shell: bash, zsh, fish or powershell")
		}
	}
}

// help prints the help of the command that args name.
func help(c *cobra.Command, args []string) error {
	of, rest, err := c.Root().Find(args)
	if err == nil {
		err = cobra.NoArgs(of, rest)
	}
	if err != nil {
		return withForm(of, err)
	}
	of.InitDefaultHelpFlag()
	of.InitDefaultVersionFlag()
	return of.Help()
}

// needsCommand returns the run function of a command that needs a subcommand.
func needsCommand(say string) func(*cobra.Command, []string) error {
	return func(*cobra.Command, []string) error { return errors.New(say) }
}
