package health

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strings"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
)

// grpcPrefix is the length of what precedes a message: its compression flag and its length.
const grpcPrefix = 5

// grpc asks the health service of the server at to (grpc.health.v1) for the
// service that the path names. Such a call is a POST over HTTP/2 whose trailer has a
// code: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
func (c *connector) grpc(ctx context.Context, t *Target, to string) Outcome {
	question, err := proto.Marshal(&grpc_health_v1.HealthCheckRequest{Service: strings.Trim(t.Path, "/")})
	if err != nil {
		return Outcome{Reason: BadAnswer}
	}
	message := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(question))), question...)
	req, err := t.request(ctx, http.MethodPost, grpc_health_v1.Health_Check_FullMethodName, bytes.NewReader(message))
	if err != nil {
		return Outcome{Reason: BadAnswer}
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	return c.exchange(t, to, req, func(resp *http.Response) Outcome {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
		if err != nil {
			return Outcome{Reason: reasonOf(ctx, err)}
		}
		return Outcome{Reason: grpcReason(resp, body)}
	})
}

// grpcReason interprets an answer of the health service.
func grpcReason(resp *http.Response, body []byte) Reason {
	// Codes: https://github.com/grpc/grpc/blob/master/doc/statuscodes.md.
	switch code := cmp.Or(resp.Trailer.Get("Grpc-Status"), resp.Header.Get("Grpc-Status")); {
	case code == "5", code == "12", code == "" && resp.StatusCode == http.StatusNotFound: // NOT_FOUND, UNIMPLEMENTED
		return UnknownService
	case code == "4": // DEADLINE_EXCEEDED
		return Timeout
	case code == "14": // UNAVAILABLE
		return NotServing
	case code != "0", len(body) < grpcPrefix, body[0] != 0, int(binary.BigEndian.Uint32(body[1:])) != len(body)-grpcPrefix:
		return BadAnswer
	}
	var answer grpc_health_v1.HealthCheckResponse
	switch err := proto.Unmarshal(body[grpcPrefix:], &answer); {
	case err != nil:
		return BadAnswer
	case answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING:
		return NotServing
	}
	return Good
}
