package recollect

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"

	"google.golang.org/protobuf/proto"
)

// NewEventID makes a UUIDv7: ids sort by the time they were made, to a quarter of a microsecond.
func NewEventID() string {
	return eventID(time.Now())
}

func eventID(now time.Time) string {
	nanos := uint64(now.UnixNano())
	millis, rest := nanos/1_000_000, nanos%1_000_000
	var id [16]byte
	_, _ = rand.Read(id[8:]) // it never fails: without entropy the program ends
	binary.BigEndian.PutUint64(id[:8], millis<<16|7<<12|rest*4096/1_000_000)
	id[8] = id[8]&0x3f | 0x80
	var text [36]byte
	hex.Encode(text[:8], id[:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:], id[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

// WithIDs is the events, each with an id: copies of those that had none. Append these, and again after an error: nothing is
// stored twice. Append does it by itself for its own repetitions.
func WithIDs(events []*Event) []*Event {
	identified := make([]*Event, len(events))
	for i, event := range events {
		if event != nil && event.EventId == "" {
			event = proto.CloneOf(event)
			event.EventId = NewEventID()
		}
		identified[i] = event
	}
	return identified
}
