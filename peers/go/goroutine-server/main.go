// An echo server for `arrivals --on PATH`: it accepts connections on its standard input, a listening socket, with one
// goroutine per connection, and prints in a line which runtime it has.
package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutine-server:", err)
		os.Exit(1)
	}
}

func serve() error {
	listener, err := net.FileListener(os.Stdin)
	if err != nil {
		return fmt.Errorf("standard input is no listening socket: start it by arrivals --on (%w)", err)
	}
	fmt.Println("go goroutines", runtime.Version())
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go echo(connection)
	}
}

// echo returns what it reads until the client closes the connection.
func echo(connection net.Conn) {
	defer connection.Close()
	buffer := make([]byte, 32<<10)
	for {
		count, err := connection.Read(buffer)
		if err != nil {
			return
		}
		if _, err := connection.Write(buffer[:count]); err != nil {
			return
		}
	}
}
