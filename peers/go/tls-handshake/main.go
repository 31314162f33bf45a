// A whole handshake of TLS 1.3, client and server: what a switch is beside when a connection begins.
//
// One iteration: N handshakes, one after the other, over a connection in memory (net.Pipe). The server proves its name
// by a certificate (ECDSA P-256) that the client verifies; no session is resumed. Timed: both sides of each handshake,
// and the switches of their goroutines, which are little beside it. Left out: making the certificate and the
// connections, and the check that each handshake was whole.
//
// Not to be taken for the time until a client on another machine can send: that waits for the network too. Other
// libraries are faster or slower.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"time"

	"switchcost/contract"
)

func main() { contract.Main("tls-handshake", 10, 3, describe, measure) }

func describe(d *contract.Description) error {
	return nil
}

func measure(run *contract.Run) error {
	server, client, err := configure("localhost")
	if err != nil {
		return err
	}
	for run.Next() {
		for run.Iterate() {
			ends := make([][2]*tls.Conn, run.Tasks)
			for k := range ends {
				one, other := net.Pipe()
				ends[k] = [2]*tls.Conn{tls.Server(one, server), tls.Client(other, client)}
			}

			clock := time.Now()
			for _, pair := range ends {
				served := make(chan error)
				go func() { served <- pair[0].Handshake() }()
				if err := errors.Join(pair[1].Handshake(), <-served); err != nil {
					return err
				}
			}
			run.Record(time.Since(clock))

			for _, pair := range ends {
				if state := pair[1].ConnectionState(); !state.HandshakeComplete || state.DidResume {
					return errors.New("a handshake was not whole")
				}
			}
		}
	}
	return run.Err
}

// configure makes a certificate for the name, a server that has it, and a client that trusts nothing else.
func configure(name string) (server, client *tls.Config, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		DNSNames:     []string{name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(certificate)
	server = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		MinVersion:   tls.VersionTLS13,
		// The client would have to read a ticket after its handshake.
		SessionTicketsDisabled: true,
	}
	return server, &tls.Config{RootCAs: trusted, ServerName: name, MinVersion: tls.VersionTLS13}, nil
}
