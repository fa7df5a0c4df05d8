package kubetest

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
)

// Open runs the given server binary outside of any test. dir keeps its data and its port between
// runs. The caller ends it with Stop.
func Open(binary, dir string) (*Server, error) {
	s := &Server{binary: binary, dir: dir, port: portBefore(dir), installed: make(map[CRDs]bool)}
	err := s.start()
	if err != nil && s.port != "" { // the port is taken now
		s.port = ""
		err = s.start()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// portBefore returns the port of the server that last ran in dir; "" for none.
func portBefore(dir string) string {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		return ""
	}
	at, err := url.Parse(config.Host)
	if err != nil {
		return ""
	}
	return at.Port()
}

// Install installs the missing CRDs, and waits until their resources are served.
func (s *Server) Install(ctx context.Context) error {
	for _, set := range []CRDs{GatewayAPI, Kuadrant, ExternalDNS} {
		if err := s.installCRDs(ctx, set); err != nil {
			return fmt.Errorf("install CRDs: %w", err)
		}
	}
	return nil
}
