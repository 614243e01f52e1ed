// SPDX-License-Identifier: Apache-2.0
// A client with Go's x/crypto/ssh: PORT KEYFILE HOSTKEY_BASE64 COMMAND REKEY.
// Exits as the command did, 128+15 for SIGTERM, 255 when the way there failed.
package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/crypto/ssh"
)

func die(err error) {
	fmt.Fprintln(os.Stderr, "go client:", err)
	os.Exit(255)
}

func main() {
	pem, err := os.ReadFile(os.Args[2])
	if err != nil {
		die(err)
	}
	signer, err := ssh.ParsePrivateKey(pem)
	if err != nil {
		die(err)
	}
	blob, _ := base64.StdEncoding.DecodeString(os.Args[3])
	host, err := ssh.ParsePublicKey(blob)
	if err != nil {
		die(err)
	}
	config := &ssh.ClientConfig{User: "anyone",
		Auth:            []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: ssh.FixedHostKey(host)}
	config.RekeyThreshold, _ = strconv.ParseUint(os.Args[5], 10, 64)
	client, err := ssh.Dial("tcp", "127.0.0.1:"+os.Args[1], config)
	if err != nil {
		die(err)
	}
	session, err := client.NewSession()
	if err != nil {
		die(err)
	}
	session.Stdin, session.Stdout, session.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = session.Run(os.Args[4])
	if exit, ok := err.(*ssh.ExitError); ok {
		if exit.Signal() == "TERM" {
			os.Exit(143)
		}
		os.Exit(exit.ExitStatus())
	}
	if err != nil {
		die(err)
	}
}
