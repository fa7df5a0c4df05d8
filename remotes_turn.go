package kuadrant

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// line is one line of the log.
type line struct {
	logf func(format string, args ...any)
	text string
}

// What is said of clusters that no Secret names any more.
const (
	secretGone    = "cluster %q: its Secret is gone: what comes from it alone is withdrawn"
	secretMissing = "cluster %q: its Secret is not there any more, and nobody has reported that it was deleted: its names are held back as those of missing objects are. Make the Secret again, or delete what is left of it by `guard 0` and a reload"
)

func sayAll(lines []line) {
	for _, l := range lines {
		l.logf("%s", l.text)
	}
}

// turnRemotes lets those run that are to run, and returns what there is to say. The caller
// holds mu.
func (e *engine) turnRemotes(ctx context.Context, all []*source.Remote) (lines []line) {
	r := &e.remotes
	wanted, unusable, problems := e.chooseRemotes(all)
	r.unusable = unusable
	say := func(logf func(string, ...any), format string, args ...any) {
		lines = append(lines, line{logf, fmt.Sprintf(format, args...)})
	}
	for _, name := range slices.Sorted(maps.Keys(r.running)) {
		if wanted[name] != nil {
			continue
		}
		stands, twin := e.latest(name), r.running[name].twin
		switch heir := e.heirOf(name, wanted); {
		case heir != "":
			e.readRemote(ctx, e.inheritRemote(name, wanted[heir]))
			say(e.infof, "cluster %q: its Secret is gone: it goes on as cluster %q, which another Secret names", name, heir)
		case !r.listed || isMissing(all, name):
			e.loseRemote(name)
			say(e.warnf, secretMissing, name)
		default:
			e.removeRemote(name)
			say(e.infof, secretGone, name)
		}
		if twin != "" && stands != nil {
			e.standBeside(twin, stands.UID, wanted)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.recalled)) {
		i := indexOf(all, name)
		switch {
		case wanted[name] != nil:
		case i >= 0:
			e.poolRecalled(all[i])
		case e.heirOf(name, wanted) != "" || e.isRead(name, wanted):
		case isMissing(all, name):
			e.loseRemote(name)
			say(e.warnf, secretMissing, name)
		case r.listed:
			e.withdraw(name)
			say(e.infof, secretGone, name)
		default:
			e.loseRemote(name)
			say(e.infof, "cluster %q: no Secret names it any more: what is known of it alone is withdrawn, at once or where that is much after `guard`", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.lost)) {
		if i := indexOf(all, name); i >= 0 && wanted[name] == nil {
			say(e.infof, "cluster %q: Secret %s names it again, and cannot be used: answering with what was known", name, all[i].Secret)
			e.putBack(name)
			r.recalled[name] = true
			e.keepKnown(all[i], true)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		of, m := wanted[name], r.running[name]
		switch {
		case r.lost[name] != nil:
			say(e.infof, "cluster %q: Secret %s names it again: reading it from %s", name, of.Secret, of.Config.Host)
			e.findRemote(of)
		case m == nil && r.recalled[name]:
			say(e.infof, "cluster %q: Secret %s names it: reading it from %s, and answering with what is known of it until it is listed", name, of.Secret, of.Config.Host)
			e.keepRemote(of)
		case m == nil:
			say(e.infof, "cluster %q: Secret %s names it: reading it from %s", name, of.Secret, of.Config.Host)
		case m.of.Same(of):
			if m.twin != "" && !r.recalled[m.twin] {
				problems[of.Secret] = twinProblem(m.twin)
			}
			continue
		default:
			say(e.infof, "cluster %q: Secret %s has changed: reading it from %s", name, of.Secret, of.Config.Host)
			e.keepRemote(of)
		}
		e.readRemote(ctx, e.openRemote(of))
	}
	for _, secret := range slices.Sorted(maps.Keys(problems)) {
		if problems[secret] != r.problems[secret] {
			say(e.warnf, "Secret %s, which names a cluster: %s", secret, problems[secret])
		}
	}
	r.problems, r.told = problems, all
	return lines
}

// dropRecalled lets those clusters go that nothing reads and no Secret names, and that had stayed as they were read under another
// name: what that leads to is another server now. It returns what there is to say. The caller holds mu.
func (e *engine) dropRecalled() (lines []line) {
	r := &e.remotes
	if !r.listed {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.recalled)) {
		switch {
		case indexOf(r.told, name) >= 0 || r.hasTwin(name) || e.isRead(name, nil):
			continue
		case isMissing(r.told, name):
			e.loseRemote(name)
			lines = append(lines, line{e.warnf, fmt.Sprintf(secretMissing, name)})
		default:
			e.withdraw(name)
			lines = append(lines, line{e.infof, fmt.Sprintf(secretGone, name)})
		}
		e.noteRemotes()
	}
	return lines
}

// chooseRemotes returns those of all that are to run, by name, those of which nothing can be read,
// and what is wrong with the others, by Secret. One that runs goes on with what its Secret held last that could be used.
// The caller holds mu.
func (e *engine) chooseRemotes(all []*source.Remote) (wanted, unusable map[string]*source.Remote, problems map[string]string) {
	r := &e.remotes
	wanted, unusable, problems = make(map[string]*source.Remote), make(map[string]*source.Remote), make(map[string]string)
	rank := func(of *source.Remote) int {
		switch {
		case r.running[of.Name] != nil:
			return 0 // it would be withdrawn
		case r.recalled[of.Name] || r.lost[of.Name] != nil:
			return 1 // it is answered for, read or not
		default:
			return 2
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(of *source.Remote) bool { return of.Missing })
	slices.SortStableFunc(all, func(a, b *source.Remote) int { return rank(a) - rank(b) })
	for _, of := range all {
		m := r.running[of.Name]
		switch {
		case of.Name == corefile.LocalCluster:
			problems[of.Secret] = fmt.Sprintf("%q is the name of the main cluster: give the Secret another name", corefile.LocalCluster)
		case e.reserved(of.Name):
			problems[of.Secret] = fmt.Sprintf("the Corefile has a cluster %q, which goes first: give the Secret another name", of.Name)
			unusable[of.Name] = of
		case of.Fault != "" && m != nil:
			problems[of.Secret] = of.Fault + "; the cluster is read as before"
			as := *m.of
			as.Pools = of.Pools // which counts at once
			wanted[of.Name] = &as
		case of.Fault != "" && r.recalled[of.Name]:
			problems[of.Secret] = of.Fault + "; the cluster is answered for as it was, and not read"
		case of.Fault != "":
			problems[of.Secret] = of.Fault
			unusable[of.Name] = of
		case len(wanted) == maxRemotes:
			unusable[of.Name] = of
			problems[of.Secret] = fmt.Sprintf("there are %d such clusters already, which is the most", maxRemotes)
		default:
			wanted[of.Name] = of
			if of.Warning != "" {
				problems[of.Secret] = of.Warning
			}
		}
	}
	return wanted, unusable, problems
}

// isMissing tells whether the Secret for the cluster has gone without a report.
func isMissing(all []*source.Remote, cluster string) bool {
	return slices.ContainsFunc(all, func(r *source.Remote) bool { return r.Name == cluster && r.Missing })
}

// indexOf returns where in all the Secret for the cluster is, be it one that cannot be used; -1 where there is none.
func indexOf(all []*source.Remote, cluster string) int {
	return slices.IndexFunc(all, func(of *source.Remote) bool { return of.Name == cluster && !of.Missing })
}
