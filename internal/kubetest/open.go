package kubetest

import (
	"context"
	"fmt"
)

// Open runs the given server binary over dir, which keeps its data between
// runs, outside of any test. The caller ends it with Stop.
func Open(binary, dir string) (*Server, error) { return newServer(binary, dir) }

// Install installs the CRDs that are not there yet, and waits until their resources are
// served.
func (s *Server) Install(ctx context.Context) error {
	for _, set := range []CRDs{GatewayAPI, Kuadrant, ExternalDNS} {
		if err := s.installCRDs(ctx, set); err != nil {
			return fmt.Errorf("install CRDs: %w", err)
		}
	}
	return nil
}
