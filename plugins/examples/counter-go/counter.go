// Counts the pages that pass, and writes the number into each.
//
//	go run counter.go /run/user/1000/counter.sock
//	byway proxy … --interceptor 'unix:/run/user/1000/counter.sock?http=1.1'
//
// Needs Go 1.19 or later and nothing else. The reverse proxy of the standard library speaks HTTP/1.1 in both directions.
package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

var pages atomic.Int64

// The connections to next hops. The host in the URL of a request is the path of its next hop's socket, in hexadecimal digits.
var hops = &http.Transport{
	DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		path, err := hex.DecodeString(strings.TrimSuffix(address, ":80"))
		if err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, "unix", string(path))
	},
	DisableCompression:  true,
	MaxIdleConnsPerHost: 100,
	IdleConnTimeout:     10 * time.Second,
}

// A request on its way to its next hop: where it comes from.
type onward struct {
	client  http.ResponseWriter
	request *http.Request
}

// A context without values, so that later versions of the reverse proxy, which pass 103 (Early Hints) themselves, do not pass it twice.
type bare struct{ context.Context }

func (bare) Value(any) any { return nil }

func (onward onward) RoundTrip(request *http.Request) (*http.Response, error) {
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, fields textproto.MIMEHeader) error {
		if code == http.StatusContinue {
			return nil
		}
		for name, values := range fields {
			onward.client.Header()[name] = values
		}
		onward.client.WriteHeader(code)
		for name := range fields {
			onward.client.Header().Del(name)
		}
		return nil
	}}
	if request.Body != nil {
		request.Trailer = http.Header{}
		request.Body = trailing{request.Body, onward.request, request.Trailer}
	}
	return hops.RoundTrip(request.WithContext(httptrace.WithClientTrace(bare{request.Context()}, trace)))
}

// The body of a request, whose trailers are known at its end.
type trailing struct {
	io.ReadCloser
	request  *http.Request
	trailers http.Header
}

func (body trailing) Read(buffer []byte) (int, error) {
	count, err := body.ReadCloser.Read(buffer)
	if err == io.EOF {
		for name, values := range body.request.Trailer {
			body.trailers[name] = values
		}
	}
	return count, err
}

// Text behind the end of a body.
type longer struct {
	io.Reader
	io.Closer
}

func count(response *http.Response) error {
	header := response.Header
	if response.Request.Method == "HEAD" || response.StatusCode != 200 || header.Get("Content-Encoding") != "" ||
		!strings.HasPrefix(header.Get("Content-Type"), "text/html") {
		return nil
	}
	text := fmt.Sprintf("<p>Page %d</p>", pages.Add(1))
	response.Body = longer{io.MultiReader(response.Body, strings.NewReader(text)), response.Body}
	if response.ContentLength >= 0 {
		response.ContentLength += int64(len(text))
		header.Set("Content-Length", strconv.FormatInt(response.ContentLength, 10))
	}
	return nil
}

func direct(request *http.Request) {
	path := strings.TrimPrefix(request.Header.Get("Byway-Next"), "unix:")
	request.URL.Scheme, request.URL.Host = "http", hex.EncodeToString([]byte(path))
	request.Header.Del("Byway-Next")
	request.Header.Del("Accept-Encoding")
	request.Header["X-Forwarded-For"] = nil
}

func main() {
	handler := func(client http.ResponseWriter, request *http.Request) {
		// Go 1.21 and later can send a response while the request still arrives.
		if duplex, ok := client.(interface{ EnableFullDuplex() error }); ok {
			duplex.EnableFullDuplex()
		}
		proxy := httputil.ReverseProxy{
			Director: direct, Transport: onward{client, request}, FlushInterval: -1, ModifyResponse: count, ErrorLog: log.New(io.Discard, "", 0),
		}
		proxy.ServeHTTP(client, request)
	}
	path := os.Args[1]
	os.Remove(path)
	syscall.Umask(0o077)
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(listener, http.HandlerFunc(handler)))
}
