// Package checks has what health checks are measured with: servers that are
// checked, the targets that they are, and a prober with a clock beside it.
//
//	servers.go  the servers, for a process of their own
//	targets.go  thousands of targets, each at an address of its own
//	measure.go  a prober that checks them, and what it uses
package checks
