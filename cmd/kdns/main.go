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

// The exit codes.
const (
	exitFine   = 0
	exitFound  = 1 // there is something to look at: faults, differences, a name that does not exist
	exitUsage  = 2 // the command line, or a question, is wrong
	exitFailed = 3 // it could not be done: a file or a server could not be read
)

// patience is how long a command that is interrupted may take to say what it has found.
const patience = time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { // what waits for its input looks at no context
		time.Sleep(patience)
		_, _ = fmt.Fprintln(os.Stderr, "interrupted")
		os.Exit(exitFailed)
	})
	code := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with what it reads and writes; args begin with the name of the program.
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

// withForm lets what is wrong with the arguments of a command come with how to write it, or where that is said.
func withForm(c *cobra.Command, err error) error {
	switch {
	case strings.Contains(err.Error(), " --help"):
	case c.HasSubCommands(): // it is nothing without one of them
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

// fieldFlags are the flags in which what is wrong with a question stands, by its fields.
var fieldFlags = map[string][]string{"zone": {"in"}, "state": {"state"}, "type": {"type", "types"}, "from": {"from"}}

// withFlag lets what is wrong with a flag come with those that are near it, and where they are listed.
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

// mostNear is how many words that are near one are named.
const mostNear = 3

// instead says which words to write instead of one that is not known; "" for none.
func instead(word string, known iter.Seq[string]) string {
	found := near.Words(word, known, mostNear)
	if len(found) == 0 {
		return ""
	}
	return "write " + strings.Join(found, " or ") + ", or "
}

// calledAs tells by the path of the program whether it is called as a plugin of kubectl, and whether to complete
// the command line of that.
func calledAs(path string) (plugin, completes bool) {
	name := filepath.Base(path)
	completes = strings.HasPrefix(name, "kubectl_complete-")
	return completes || strings.HasPrefix(name, "kubectl-"), completes
}

// errFound ends a command that has found what it was asked to look for.
var errFound = errors.New("found")

// failedError ends a command that could not do its work.
type failedError struct{ err error }

func (e *failedError) Error() string { return e.err.Error() }
func (e *failedError) Unwrap() error { return e.err }

// failed returns err as one that ends a command with exitFailed, but for a question that is wrong;
// nil for nil.
func failed(err error) error {
	if _, asked := inspect.IsRequest(err); asked || err == nil {
		return err
	}
	return &failedError{err}
}

// newRoot returns the program, or the plugin of kubectl.
func newRoot(plugin bool) *cobra.Command { return newRootOf(plugin, new(options)) }

// newRootOf returns the program with what its flags are put into.
func newRootOf(plugin bool, o *options) *cobra.Command {
	root := &cobra.Command{
		Use:   "kdns",
		Short: "Show what the kuadrant plugin of CoreDNS answers, and why",
		Long: `Show what the kuadrant plugin of CoreDNS answers, and why.

The objects come either from manifests (-f, --corefile), which are compiled as the
server would, or from a running server (--server), whose Corefile has the property console. Without
such a flag, they come from ./Corefile and the manifests that it names.`,
		SilenceUsage: true, SilenceErrors: true, DisableSuggestions: true, // withForm has them in one line
		Version:           kuadrant.Version(),
		PersistentPreRunE: func(*cobra.Command, []string) error { return o.check() },
	}
	if plugin { // what a shell completes is the file's name: kubectl has a completion of its own
		root.Use = "kubectl-kdns"
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl kdns"}
	}
	root.SetFlagErrorFunc(withFlag)
	o.flags(root.PersistentFlags())
	root.AddCommand(newExplain(o), newList(o), newPreview(o), newCheck(o), newCompare(o))
	completeValues(root)
	return root
}

// addCobras adds the commands that cobra has for every program, which write to root's output as it is now. What they are
// asked for and do not know is an error here, and no help.
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

// help shows the help of the command that args name.
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

// needsCommand is what a command does that is nothing without one of those below it.
func needsCommand(say string) func(*cobra.Command, []string) error {
	return func(*cobra.Command, []string) error { return errors.New(say) }
}
