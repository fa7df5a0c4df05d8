package source

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
)

// maxKubeconfig is how many bytes a kubeconfig of a Secret may have: one cluster with its
// credentials takes some 6 KiB, and all of a Secret is 1 MiB at most.
const maxKubeconfig = 256 << 10

// ReadKubeconfig returns how to reach the API server that a kubeconfig, which comes from a
// Secret, names: that of its current context, or of its only one. A kubeconfig can run
// programs and read files of this machine, and so nothing is taken but the server's https
// URL, its CA and name, and a token or a client certificate with its key, all inline.
// Anything else in it, in a context that is not used too, is refused.
//
// Errors name the field, and never have anything of what the kubeconfig holds.
func ReadKubeconfig(text []byte) (*rest.Config, error) {
	if len(text) > maxKubeconfig {
		return nil, fmt.Errorf("it has %d bytes: %d are allowed", len(text), maxKubeconfig)
	}
	data, err := yamlToJSON(text)
	if err != nil {
		return nil, errors.New("it is neither YAML nor JSON")
	}
	var top any
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, errors.New("it is neither YAML nor JSON")
	}
	if err := checkForm("", top, kubeconfigForm); err != nil {
		return nil, err
	}
	var k kubeconfig
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, errors.New("it is no kubeconfig") // its form has been checked
	}
	return k.config()
}

// form says what a value of a kubeconfig may be: text, a list of items, an object with
// fields, or, where all are empty, anything.
type form struct {
	text   bool
	item   *form
	fields map[string]form
}

var (
	anyForm  = form{}
	textForm = form{text: true}
	// kubeconfigForm is what may stand in one. Preferences and extensions are what kubectl
	// and its helpers note for themselves.
	kubeconfigForm = form{fields: map[string]form{
		"apiVersion": textForm, "kind": textForm, "current-context": textForm, "preferences": anyForm, "extensions": anyForm,
		"clusters": namedForm("cluster", map[string]form{
			"server": textForm, "certificate-authority-data": textForm, "tls-server-name": textForm, "disable-compression": anyForm, "extensions": anyForm,
		}),
		"users": namedForm("user", map[string]form{
			"token": textForm, "client-certificate-data": textForm, "client-key-data": textForm, "extensions": anyForm,
		}),
		"contexts": namedForm("context", map[string]form{
			"cluster": textForm, "user": textForm, "namespace": textForm, "extensions": anyForm,
		}),
	}}
)

// namedForm is a list of things that have names.
func namedForm(what string, fields map[string]form) form {
	return form{item: &form{fields: map[string]form{"name": textForm, what: {fields: fields}}}}
}

// refusedFields are those of kubeconfigs that are not taken from Secrets, each with what to do.
var refusedFields = map[string]string{
	"exec":                     "no program is run for a Secret: write a token, or a client certificate with its key",
	"auth-provider":            "no program is run for a Secret: write a token, or a client certificate with its key",
	"certificate-authority":    "no file is read for a Secret: write certificate-authority-data",
	"client-certificate":       "no file is read for a Secret: write client-certificate-data",
	"client-key":               "no file is read for a Secret: write client-key-data",
	"tokenFile":                "no file is read for a Secret: write token",
	"username":                 "write a token, or a client certificate with its key",
	"password":                 "write a token, or a client certificate with its key",
	"insecure-skip-tls-verify": "the server would not be known: write certificate-authority-data, and tls-server-name where its certificate has another name",
	"proxy-url":                "the server is reached directly",
	"as":                       "the rights are those of the credentials",
	"as-uid":                   "the rights are those of the credentials",
	"as-groups":                "the rights are those of the credentials",
	"as-user-extra":            "the rights are those of the credentials",
}

// checkForm fails where value, which is at a place in a kubeconfig, is not as f has it.
func checkForm(place string, value any, f form) error {
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		if f.text || f.any() {
			return nil
		}
	case []any:
		if f.any() {
			return nil
		}
		if f.item == nil {
			break
		}
		for i, item := range v {
			if err := checkForm(fmt.Sprintf("%s[%d]", place, i), item, *f.item); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		if f.any() {
			return nil
		}
		if f.fields == nil {
			break
		}
		return checkFields(place, v, f)
	default:
		if f.any() {
			return nil
		}
	}
	return fmt.Errorf("%s has a value of another form than a kubeconfig's", cmp.Or(place, "it"))
}

func (f *form) any() bool { return !f.text && f.item == nil && f.fields == nil }

func checkFields(place string, fields map[string]any, f form) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		of, known := f.fields[name]
		if known {
			if err := checkForm(strings.TrimPrefix(place+"."+name, "."), fields[name], of); err != nil {
				return err
			}
			continue
		}
		why, refused := refusedFields[name]
		switch value := fields[name]; {
		case refused && (value == nil || value == "" || value == false):
			// as good as not there
		case refused:
			return fmt.Errorf("%s is refused: %s", strings.TrimPrefix(place+"."+name, "."), why)
		default: // its name may be a token in the wrong place
			return fmt.Errorf("%s has a field that is not taken from Secrets: it may have %s", cmp.Or(place, "it"), strings.Join(slices.Sorted(maps.Keys(f.fields)), ", "))
		}
	}
	return nil
}

// kubeconfig is what is taken of one.
type kubeconfig struct {
	Current  string                       `json:"current-context"`
	Clusters []named[kubeconfigCluster]   `json:"clusters"`
	Users    []named[kubeconfigUser]      `json:"users"`
	Contexts []named[kubeconfigReference] `json:"contexts"`
}

// named is one thing of a list, which all have the name of what it is as their key.
type named[T any] struct {
	Name    string `json:"name"`
	Cluster *T     `json:"cluster"`
	User    *T     `json:"user"`
	Context *T     `json:"context"`
}

type kubeconfigCluster struct {
	Server     string `json:"server"`
	CA         string `json:"certificate-authority-data"`
	ServerName string `json:"tls-server-name"`
}

type kubeconfigUser struct {
	Token       string `json:"token"`
	Certificate string `json:"client-certificate-data"`
	Key         string `json:"client-key-data"`
}

type kubeconfigReference struct {
	Cluster string `json:"cluster"`
	User    string `json:"user"`
}

// find returns the thing of that name in a list.
func find[T any](list []named[T], name string) *T {
	for i := range list {
		if n := &list[i]; n.Name == name {
			return cmp.Or(n.Cluster, n.User, n.Context)
		}
	}
	return nil
}

func (k *kubeconfig) config() (*rest.Config, error) {
	current := k.Current
	if current == "" && len(k.Contexts) == 1 {
		current = k.Contexts[0].Name
	}
	context := find(k.Contexts, current)
	if context == nil {
		return nil, errors.New("current-context names no context: write its name")
	}
	cluster, user := find(k.Clusters, context.Cluster), find(k.Users, context.User)
	switch {
	case cluster == nil:
		return nil, errors.New("the context names no cluster of clusters")
	case user == nil:
		return nil, errors.New("the context names no user of users")
	}
	c := new(rest.Config)
	if err := cluster.put(c); err != nil {
		return nil, err
	}
	return c, user.put(c)
}

// put says in c which server it is.
func (k *kubeconfigCluster) put(c *rest.Config) error {
	u, err := url.Parse(k.Server)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https":
		return errors.New("server is not the https URL of an API server")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("server has more than scheme, host, port and path")
	}
	c.Host, c.ServerName = k.Server, k.ServerName
	if k.CA == "" {
		return nil // one that this machine trusts
	}
	if c.CAData, err = base64.StdEncoding.DecodeString(k.CA); err != nil || !x509.NewCertPool().AppendCertsFromPEM(c.CAData) {
		return errors.New("certificate-authority-data is not a certificate in PEM, in base64")
	}
	return nil
}

// put says in c who asks.
func (k *kubeconfigUser) put(c *rest.Config) (err error) {
	if k.Token == "" && k.Certificate == "" && k.Key == "" {
		return errors.New("the user has no credentials: write token, or client-certificate-data and client-key-data")
	}
	// A token goes into a header (RFC 6750 §2.1).
	if strings.ContainsFunc(k.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("token has characters that no token has")
	}
	c.BearerToken = k.Token
	if k.Certificate == "" && k.Key == "" {
		return nil
	}
	bad := errors.New("client-certificate-data and client-key-data are not a certificate and its key in PEM, in base64")
	if c.CertData, err = base64.StdEncoding.DecodeString(k.Certificate); err != nil {
		return bad
	}
	if c.KeyData, err = base64.StdEncoding.DecodeString(k.Key); err != nil {
		return bad
	}
	if _, err := tls.X509KeyPair(c.CertData, c.KeyData); err != nil {
		return bad
	}
	return nil
}
