package source

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	clientcmd "k8s.io/client-go/tools/clientcmd/api/v1"
	strictjson "sigs.k8s.io/json"
)

// maxKubeconfig bounds a Secret's kubeconfig, in bytes: one cluster with its credentials takes some
// 6 KiB, and a whole Secret is 1 MiB at most.
const maxKubeconfig = 256 << 10

// ReadKubeconfig returns how to reach the API server of a kubeconfig from a Secret: that of the
// current context, or of the only one. A kubeconfig can run programs and read files of this
// machine. ReadKubeconfig therefore accepts only inline values: the server's https URL, its CA and
// name, and a token or a client certificate with its key. It refuses anything else, even in an
// unused context.
//
// Errors name the field, and quote no value.
func ReadKubeconfig(text []byte) (*rest.Config, error) {
	if len(text) > maxKubeconfig {
		return nil, fmt.Errorf("%d bytes, more than the %d allowed", len(text), maxKubeconfig)
	}
	data, err := yamlToJSON(text)
	if twice := new(duplicateKey); errors.As(err, &twice) {
		return nil, twice
	}
	if err != nil {
		return nil, errors.New("neither YAML nor JSON")
	}
	var k clientcmd.Config
	unknown, err := strictjson.UnmarshalStrict(data, &k)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return nil, fmt.Errorf("%s has a value of the wrong type", wrong.Field)
	case err != nil: // its text may quote a part of a value
		return nil, errors.New("not a kubeconfig, or a certificate or key in it is not base64")
	case len(unknown) > 0: // the field's name may be a misplaced token
		return nil, errors.New("it has a field that is not part of a kubeconfig")
	}
	for i := range k.Clusters {
		if err := refuse(fmt.Sprintf("clusters[%d].cluster", i), refusedOfCluster(&k.Clusters[i].Cluster)); err != nil {
			return nil, err
		}
	}
	for i := range k.AuthInfos {
		if err := refuse(fmt.Sprintf("users[%d].user", i), refusedOfUser(&k.AuthInfos[i].AuthInfo)); err != nil {
			return nil, err
		}
	}
	return configOf(&k)
}

// refusedField is a field that Secrets may not set: whether it is set, and what to do instead.
type refusedField struct {
	set       bool
	name, why string
}

func refuse(place string, fields []refusedField) error {
	for _, f := range fields {
		if f.set {
			return fmt.Errorf("%s.%s is refused: %s", place, f.name, f.why)
		}
	}
	return nil
}

func refusedOfCluster(c *clientcmd.Cluster) []refusedField {
	return []refusedField{
		{c.CertificateAuthority != "", "certificate-authority", "a Secret may not refer to files; write certificate-authority-data"},
		{c.InsecureSkipTLSVerify, "insecure-skip-tls-verify", "the server would not be verified; write certificate-authority-data, " +
			"and tls-server-name if its certificate has another name"},
		{c.ProxyURL != "", "proxy-url", "proxies are not supported"},
	}
}

func refusedOfUser(u *clientcmd.AuthInfo) []refusedField {
	const (
		inline = "write a token, or a client certificate with its key"
		rights = "impersonation is not supported"
	)
	return []refusedField{
		{u.Exec != nil, "exec", "a Secret may not run programs; " + inline},
		{u.AuthProvider != nil, "auth-provider", "a Secret may not run programs; " + inline},
		{u.ClientCertificate != "", "client-certificate", "a Secret may not refer to files; write client-certificate-data"},
		{u.ClientKey != "", "client-key", "a Secret may not refer to files; write client-key-data"},
		{u.TokenFile != "", "tokenFile", "a Secret may not refer to files; write token"},
		{u.Username != "", "username", inline},
		{u.Password != "", "password", inline},
		{u.Impersonate != "", "as", rights},
		{u.ImpersonateUID != "", "as-uid", rights},
		{len(u.ImpersonateGroups) > 0, "as-groups", rights},
		{len(u.ImpersonateUserExtra) > 0, "as-user-extra", rights},
	}
}

// configOf returns the configuration of the current context, or the only one.
func configOf(k *clientcmd.Config) (*rest.Config, error) {
	context := slices.IndexFunc(k.Contexts, func(c clientcmd.NamedContext) bool {
		return c.Name == k.CurrentContext || k.CurrentContext == "" && len(k.Contexts) == 1
	})
	if context < 0 {
		return nil, errors.New("current-context does not name a context; write the name of one")
	}
	of := &k.Contexts[context].Context
	cluster := slices.IndexFunc(k.Clusters, func(c clientcmd.NamedCluster) bool { return c.Name == of.Cluster })
	user := slices.IndexFunc(k.AuthInfos, func(u clientcmd.NamedAuthInfo) bool { return u.Name == of.AuthInfo })
	switch {
	case cluster < 0:
		return nil, errors.New("the context does not name one of clusters")
	case user < 0:
		return nil, errors.New("the context does not name one of users")
	}
	c := new(rest.Config)
	if err := putServer(c, &k.Clusters[cluster].Cluster); err != nil {
		return nil, err
	}
	return c, putUser(c, &k.AuthInfos[user].AuthInfo)
}

// putServer copies the server's fields to c.
func putServer(c *rest.Config, k *clientcmd.Cluster) error {
	u, err := url.Parse(k.Server)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https":
		return errors.New("server is not the https URL of an API server")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("server may have only a scheme, host, port and path")
	case len(k.CertificateAuthorityData) > 0 && !x509.NewCertPool().AppendCertsFromPEM(k.CertificateAuthorityData):
		return errors.New("certificate-authority-data is not a PEM certificate in base64")
	}
	// Without a CA, the system's trusted CAs apply.
	c.Host, c.ServerName, c.CAData = k.Server, k.TLSServerName, k.CertificateAuthorityData
	return nil
}

// putUser copies the credentials to c.
func putUser(c *rest.Config, k *clientcmd.AuthInfo) error {
	certificate := len(k.ClientCertificateData)+len(k.ClientKeyData) > 0
	if k.Token == "" && !certificate {
		return errors.New("the user has no credentials; write token, or client-certificate-data and client-key-data")
	}
	// A token is sent in a header (RFC 6750 §2.1).
	if strings.ContainsFunc(k.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("token has characters that are not allowed")
	}
	if _, err := tls.X509KeyPair(k.ClientCertificateData, k.ClientKeyData); certificate && err != nil {
		return errors.New("client-certificate-data and client-key-data are not a PEM certificate and its key in base64")
	}
	c.BearerToken, c.CertData, c.KeyData = k.Token, k.ClientCertificateData, k.ClientKeyData
	return nil
}
