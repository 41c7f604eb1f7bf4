package eino

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cloudwego/eino/compose"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/internal/adapters"
	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// CheckPointFormat is the native format of a checkpoint: the bytes that Eino serialized.
const CheckPointFormat = "eino.checkpoint/1"

const (
	checkPointAuthor  = "eino.checkpoints"
	checkPointSession = "eino-checkpoints"
	// longestID is the maximum size of an event's id in bytes.
	longestID = 255
)

// CheckPointStore is the checkpoints of graphs and agents: each is an event, all of one session of the client's app and user. Eino
// restores Go values from them: read checkpoints only from a server whose writers you trust. A checkpoint has at most the bytes of
// an event, by default 16 MiB. It is safe for concurrent use. A failed call returns a *threadkeep.Error.
type CheckPointStore struct {
	session *threadkeep.SessionHandle
	create  []threadkeep.CreateOption
}

var _ compose.CheckPointStore = (*CheckPointStore)(nil)

// CheckPointOption configures a CheckPointStore.
type CheckPointOption func(*checkPointOptions)

type checkPointOptions struct {
	sessionID string
	create    []threadkeep.CreateOption
}

// InSession keeps the checkpoints in the session with this id. Default: "eino-checkpoints".
func InSession(id string) CheckPointOption {
	return func(o *checkPointOptions) { o.sessionID = id }
}

// CreatedWith sets the properties that the session gets with its first checkpoint. Default: it never expires.
func CreatedWith(properties ...threadkeep.CreateOption) CheckPointOption {
	return func(o *checkPointOptions) { o.create = properties }
}

// NewCheckPointStore returns the checkpoints of the client's app and user. The first one creates the session.
func NewCheckPointStore(client *threadkeep.Client, options ...CheckPointOption) *CheckPointStore {
	given := checkPointOptions{checkPointSession, []threadkeep.CreateOption{threadkeep.WithoutExpiry()}}
	for _, option := range options {
		option(&given)
	}
	return &CheckPointStore{client.Session(given.sessionID), given.create}
}

// Get returns a checkpoint, and whether there is one with this id.
func (s *CheckPointStore) Get(ctx context.Context, checkPointID string) ([]byte, bool, error) {
	event, err := s.session.GetEvent(ctx, eventID(checkPointID))
	if isMissing(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if event.GetErased() || event.GetNative().GetFormat() != CheckPointFormat {
		return nil, false, nil
	}
	return event.GetNative().GetContent(), true, nil
}

// Set stores a checkpoint in place of one with its id, which is archived. It is on durable storage when Set returns.
func (s *CheckPointStore) Set(ctx context.Context, checkPointID string, checkPoint []byte) error {
	event := adapters.NewEvent(pb.Role_ROLE_ASSISTANT, nil, CheckPointFormat, checkPoint)
	event.EventId, event.Author = eventID(checkPointID), checkPointAuthor
	about, err := json.Marshal(map[string]string{"checkpoint_id": checkPointID})
	if err != nil {
		return err
	}
	event.MetadataJson = string(about)
	_, err = s.session.Append(ctx, []*threadkeep.Event{event},
		threadkeep.WithCreateIfMissing(s.create...), threadkeep.ReplaceExisting())
	return err
}

// Delete erases a checkpoint, which Eino itself never does. It reports whether there was one. It requires the role admin.
func (s *CheckPointStore) Delete(ctx context.Context, checkPointID string) (bool, error) {
	response, err := s.session.EraseEvents(ctx, []string{eventID(checkPointID)})
	if isMissing(err) {
		return false, nil
	}
	return response.GetErased() > 0, err
}

func isMissing(err error) bool {
	return errors.Is(err, threadkeep.ErrEventNotFound) || errors.Is(err, threadkeep.ErrSessionNotFound)
}

// eventID returns the id of a checkpoint's event: its own, if a server accepts that, else its digest.
func eventID(checkPointID string) string {
	const digest = "sha256:"
	valid := checkPointID != "" && len(checkPointID) <= longestID && utf8.ValidString(checkPointID) &&
		!strings.ContainsFunc(checkPointID, unicode.IsControl) && !strings.HasPrefix(checkPointID, digest)
	if valid {
		return checkPointID
	}
	sum := sha256.Sum256([]byte(checkPointID))
	return digest + hex.EncodeToString(sum[:])
}
