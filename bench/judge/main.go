// Judge compares two builds: it plays the same random worlds with both, and compares what they answer, octet by octet, and what they tell
// objects and write as their children. From the top of the repository:
//
//	git worktree add /tmp/before REVISION && (cd /tmp/before && go build -o /tmp/judge-before ./bench/judge)
//	go run ./bench/judge -against /tmp/judge-before
//
// It prints each difference, up to a few, with the world that shows it, and ends with 1 if there is one. Both builds need this program: the
// language of its scripts is that of recordstest.World.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	against := flag.String("against", "", "the other build of this program")
	worlds := flag.Uint64("worlds", 200, "how many random worlds are played")
	queries := flag.Int("queries", 5000, "how many random queries each world is asked")
	from := flag.Uint64("from", 0, "the seed of the first world")
	show := flag.Int("show", 5, "how many differences are printed")
	flag.Parse()
	err := error(nil)
	if *against == "" {
		err = play(os.Stdin, os.Stdout)
	} else {
		err = compare(*against, *from, *worlds, *queries, *show)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}

// compare plays worlds with this build and another one, and prints what differs.
func compare(against string, from, worlds uint64, queries, show int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	now, err := start(self)
	if err != nil {
		return err
	}
	before, err := start(against)
	if err != nil {
		return err
	}
	asked, facts, differ := 0, 0, 0
	for seed := from; seed < from+worlds; seed++ {
		var world []command
		for c := range script(seed, queries) {
			is, was, err := ask(now, before, c)
			if err != nil {
				return fmt.Errorf("world %d, %s: %w", seed, c, err)
			}
			if c.Query == nil {
				world = append(world, c)
			} else {
				asked++
			}
			facts += len(is.Facts)
			for _, d := range differences(was, is) {
				if differ++; differ <= show {
					fmt.Printf("world %d, %s: %s\n", seed, c, d)
					for _, line := range world {
						fmt.Println("   ", line)
					}
				}
			}
		}
	}
	fmt.Printf("%d worlds, %d queries, %d facts about objects: %d differences\n", worlds, asked, facts, differ)
	if differ > 0 {
		return errors.New("the builds differ")
	}
	return nil
}

// player is a build that plays.
type player struct {
	in  *json.Encoder
	out *json.Decoder
}

func start(program string) (*player, error) {
	cmd := exec.Command(program)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &player{json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))}, cmd.Start() // it ends with its input
}

// ask gives both a command at the same time.
func ask(now, before *player, c command) (is, was reply, err error) {
	for _, p := range [...]*player{now, before} {
		if err := p.in.Encode(c); err != nil {
			return is, was, err
		}
	}
	return is, was, errors.Join(now.out.Decode(&is), before.out.Decode(&was))
}

// play reads commands, and writes a reply to each.
func play(r io.Reader, w io.Writer) error {
	in, out := json.NewDecoder(r), bufio.NewWriter(w)
	var p stage
	for {
		var c command
		switch err := in.Decode(&c); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := errors.Join(json.NewEncoder(out).Encode(p.do(&c)), out.Flush()); err != nil {
			return err
		}
	}
}
