package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGroup: groups are listed and switched, and what cannot be switched is refused with what to do instead.
func TestGroup(t *testing.T) {
	inRoot(t)
	const corefile = "--corefile=examples/failover/Corefile"
	record := func(groups string) string {
		return "apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: dns, name: active-groups}\n" +
			"spec: {domainName: kuadrant-active-groups.failover.example.com., type: TXT, ttl: 60, rdata: '\"version=1;groups=" + groups + "\"'}\n"
	}
	for _, c := range []struct {
		args, out, err string
		code           int
	}{
		{"list", "ZONE                  GROUP  STATE   CLUSTERS\nfailover.example.com  blue   active  active\nfailover.example.com  green  active  standby\n", "", exitFine},
		{"list --in failover.example.co", "", "write failover.example.com, or see kdns list zones", exitUsage},
		{"deactivate blue", record("green"), "", exitFine},
		{"activate blue green", record("blue&&green"), "", exitFine},
		{"deactivate blue --preview", "~ shop.failover.example.com: 100 % of the countries get other addresses", "", exitFound},
		{"activate blue --preview", "nothing changes", "", exitFine},
		{"deactivate green blue", "", "no group of a cluster would be active in failover.example.com; activate another one first", exitFailed},
		{"activate gren", "", "no cluster has the group gren; write green, or see kdns group list", exitUsage},
		{"deactivate", "", "write kdns group deactivate GROUP...", exitUsage},
		{"switch blue", "", `unknown command "switch"`, exitUsage},
	} {
		r := kdns(t, "", append(append([]string{"group"}, strings.Fields(c.args)...), corefile)...)
		if r.code != c.code || !strings.Contains(r.out, c.out) || c.out == "" && r.out != "" || !strings.Contains(r.errs, c.err) {
			t.Errorf("%s: exit %d\n%s%s\nwant %d\n%s%s", c.args, r.code, r.out, r.errs, c.code, c.out, c.err)
		}
	}
	if r := kdns(t, "", "group", "list", example); !strings.HasPrefix(r.out, "no cluster has a group: write group NAME") {
		t.Errorf("without groups: %s", r.out)
	}
}

// TestGroupRecords: what is wrong with the record of active groups is said, with its object, and what group cannot mend.
func TestGroupRecords(t *testing.T) {
	inRoot(t)
	record := func(name, text string) string {
		return "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: dns, name: " + name + "}\n" +
			"spec: {domainName: kuadrant-active-groups.failover.example.com., type: TXT, rdata: '" + text + "'}\n"
	}
	for _, c := range []struct{ args, records, says string }{
		{"check", record("active-groups", `"version=1;groups=red"`), "no cluster is of an active group, so hosts keep all their targets"},
		{"check", record("active-groups", `"version=1"`), "not active: blue (active), green (standby)"},
		{"check", record("active-groups", `"blue"`), "write version=1;groups=GROUP&&GROUP (Record dns/active-groups"},
		{"check", record("active-groups", `"version=1;groups=blue"`), "nothing is wrong"},
		{"list names", record("active-groups", `"version=1;groups=blue"`), "1 not checked, 1 of inactive groups"},
		{"group activate blue", record("one", `"version=1;groups=blue"`) + record("two", `"version=1;groups=green"`), "delete all but one"},
		{"group activate blue --namespace shop", "", "namespace shop does not administer failover.example.com; dns does"},
	} {
		dir := t.TempDir()
		err := os.CopyFS(dir, os.DirFS("examples/failover"))
		text, fault := os.ReadFile("examples/failover/Corefile")
		text = bytes.ReplaceAll(text, []byte("examples/failover"), []byte(dir))
		if err = errors.Join(err, fault, os.WriteFile(filepath.Join(dir, "Corefile"), text, 0o600),
			os.WriteFile(filepath.Join(dir, "active/groups.yaml"), []byte(c.records), 0o600)); err != nil {
			t.Fatal(err)
		}
		r := kdns(t, "", append(strings.Fields(c.args), "--corefile="+filepath.Join(dir, "Corefile"))...)
		if said := r.out + r.errs; !strings.Contains(said, c.says) {
			t.Errorf("%s with\n%s\nsays %s, want %s", c.args, c.records, said, c.says)
		}
	}
}
