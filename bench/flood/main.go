//go:build linux

// Command flood sends queries to a server over UDP and reads no reply: flood ADDRESS NAME RATE SECONDS. It prints how many it sent.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "flood:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return errors.New("want 4 arguments: ADDRESS NAME RATE SECONDS")
	}
	rate, err := strconv.Atoi(args[2])
	seconds, bad := strconv.Atoi(args[3])
	if err = errors.Join(err, bad); err != nil || rate <= 0 {
		return fmt.Errorf("RATE %s and SECONDS %s: want whole numbers, and a rate above 0", args[2], args[3])
	}
	query, err := new(dns.Msg).SetQuestion(dns.Fqdn(args[1]), dns.TypeA).Pack()
	if err != nil {
		return err
	}
	const sockets, each = 8, 50 // clients, and messages that one call sends
	var all []net.Conn
	for range sockets {
		conn, err := net.Dial("udp", args[0])
		if err != nil {
			return err
		}
		raw, err := conn.(*net.UDPConn).SyscallConn()
		if err != nil {
			return err
		}
		closed := raw.Control(func(fd uintptr) {
			err = errors.Join(unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, len(query)),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 1)) // replies are dropped
		})
		if err := errors.Join(closed, err); err != nil {
			return fmt.Errorf("set the options of a socket: %w", err)
		}
		all = append(all, conn)
	}
	messages, sent, start := bytes.Repeat(query, each), 0, time.Now()
	for time.Since(start) < time.Duration(seconds)*time.Second {
		for _, conn := range all {
			if _, err := conn.Write(messages); err == nil {
				sent += each
			}
		}
		time.Sleep(time.Duration(sent)*time.Second/time.Duration(rate) - time.Since(start)) // if it is ahead
	}
	fmt.Printf("%d queries sent, %.0f a second\n", sent, float64(sent)/time.Since(start).Seconds())
	return nil
}
