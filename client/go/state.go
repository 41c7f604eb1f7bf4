package threadkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

type (
	// StateOption says what StateHandle.Get reads.
	StateOption interface{ forState(*settings) }
	// PatchOption configures StateHandle.Patch.
	PatchOption interface{ forPatch(*settings) }
)

// StateHandle is a handle on the state of a session, of a user in an app, or of an app: values by key. Creating it makes no call.
// Every method may fail with ErrSessionNotFound and ErrAmbiguousSession for a session, and with ErrPermissionDenied beyond the
// token's reach.
type StateHandle struct {
	client *Client
	scope  pb.StateScope
	ref    *SessionRef
}

// State returns a handle on the state of the session.
func (s *SessionHandle) State() *StateHandle {
	return &StateHandle{s.client, pb.StateScope_STATE_SCOPE_SESSION, s.ref}
}

// UserState returns a handle on the state of a user in an app: by default the client's. WithUser and WithApp name others.
func (c *Client) UserState(opts ...ScopeOption) *StateHandle {
	given := settingsOf(opts, ScopeOption.forScope)
	return &StateHandle{c, pb.StateScope_STATE_SCOPE_USER, &SessionRef{App: value(c.appOf(given)), UserId: c.userOf(given)}}
}

// AppState returns a handle on the state of an app, which all its users share: by default the client's. WithApp names another.
func (c *Client) AppState(opts ...ScopeOption) *StateHandle {
	given := settingsOf(opts, ScopeOption.forScope)
	return &StateHandle{c, pb.StateScope_STATE_SCOPE_APP, &SessionRef{App: value(c.appOf(given))}}
}

// StateVersion is a version of a state. As a precondition of a patch it requires the state to be at this version, which was read;
// 0 is a state in which nothing was ever set.
type StateVersion int64

func (v StateVersion) set(s *settings) { s.expect = v }

// State is the state of a session, a user or an app, as it was read.
type State struct {
	// Values are the JSON texts of the values by key, as they were set.
	Values map[string]json.RawMessage
	// Version is what a patch may expect; 0 if nothing was ever set.
	Version StateVersion
}

// Decode stores the value of a key in what into points to, as json.Unmarshal does, and reports whether there is one.
func (s *State) Decode(key string, into any) (bool, error) {
	text, found := s.Values[key]
	if !found {
		return false, nil
	}
	return true, json.Unmarshal(text, into)
}

type stateOption func(*settings)

func (o stateOption) forState(s *settings) { o(s) }

// WithKeys reads only these keys, at most 1,000; those without a value are left out.
func WithKeys(keys ...string) StateOption {
	return stateOption(func(s *settings) { s.state.Keys = append(s.state.Keys, keys...) })
}

// WithKeyPrefix reads only keys that begin like this.
func WithKeyPrefix(prefix string) StateOption {
	return stateOption(func(s *settings) { s.state.KeyPrefix = prefix })
}

// AsOfLogVersion reads the state of a session as it was at this log version. Not for users and apps.
func AsOfLogVersion(version LogVersion) StateOption {
	return stateOption(func(s *settings) {
		number := int64(version)
		s.state.AsOfLogVersion = &number
	})
}

// Get returns the values and their version, page by page, each with its own deadline. If others change the state between two
// pages, it starts over, so that all values are of one version.
func (h *StateHandle) Get(ctx context.Context, opts ...StateOption) (*State, error) {
	given := settingsOf(opts, StateOption.forState)
	request := &given.state
	request.Scope, request.Session = h.scope, h.ref
	found, version := map[string]json.RawMessage{}, int64(0)
	for {
		page, err := h.client.raw.States.GetState(ctx, request)
		if err != nil {
			return nil, err
		}
		state := page.GetState()
		changed := request.AfterKey != "" && request.AsOfLogVersion == nil && state.GetVersion() != version
		if changed {
			clear(found)
			request.AfterKey = ""
			continue
		}
		for key, text := range state.GetValues() {
			found[key] = json.RawMessage(text)
		}
		version = state.GetVersion()
		if request.AfterKey = page.GetNextKey(); request.AfterKey == "" {
			return &State{found, StateVersion(version)}, nil
		}
	}
}

type patchOption func(*settings)

func (o patchOption) forPatch(s *settings)  { o(s) }
func (o expectOption) forPatch(s *settings) { o.set(s) }

// RemoveKeys removes the values of these keys. A key without a value changes nothing.
func RemoveKeys(keys ...string) PatchOption {
	return patchOption(func(s *settings) { s.removeKeys = append(s.removeKeys, keys...) })
}

// Patch sets values and removes keys, all or none, and returns the version afterwards. A patch that changes nothing keeps the
// version. Values are for json.Marshal, but a json.RawMessage is kept verbatim; nil is the value null, which does not remove the
// key. At most 1,000 keys. Expect(StateVersion) is a precondition.
//
//	st, err := trip.State().Get(ctx)
//	...
//	_, err = trip.State().Patch(ctx, map[string]any{"cart": 3}, threadkeep.Expect(st.Version))
//
// Errors: ErrStateTooLarge, and ErrVersionMismatch if the state is not as expected, also if a retry of the client finds its own
// first attempt.
func (h *StateHandle) Patch(ctx context.Context, set map[string]any, opts ...PatchOption) (StateVersion, error) {
	given := settingsOf(opts, PatchOption.forPatch)
	patch := &pb.StatePatch{Set: given.jsonTexts(set), Remove: given.removeKeys}
	request := &pb.PatchStateRequest{Scope: h.scope, Session: h.ref, Patch: patch}
	switch expected := given.expect.(type) {
	case nil:
	case StateVersion:
		version := int64(expected)
		request.ExpectedVersion = &version
	default:
		given.fail("a patch of a state expects a StateVersion")
	}
	if given.err != nil {
		return 0, given.err
	}
	response, err := h.client.raw.States.PatchState(ctx, request)
	return StateVersion(response.GetVersion()), err
}

// WithState sets the first values of a created session's state, in the form of StateHandle.Patch.
func WithState(values map[string]any) CreateOption {
	return createOption(func(s *settings) { s.values = s.jsonTexts(values) })
}

// ChangeState changes the state of the session with the events: it sets values, in the form of StateHandle.Patch, and removes
// keys. An append whose events are all stored already changes no state.
func ChangeState(set map[string]any, remove ...string) AppendOption {
	return changing(set, remove, func(delta *pb.StateDelta, patch *pb.StatePatch) { delta.Session = patch })
}

// ChangeUserState changes the state of the session's user with the events, like ChangeState.
func ChangeUserState(set map[string]any, remove ...string) AppendOption {
	return changing(set, remove, func(delta *pb.StateDelta, patch *pb.StatePatch) { delta.User = patch })
}

// ChangeAppState changes the state of the session's app with the events, like ChangeState.
func ChangeAppState(set map[string]any, remove ...string) AppendOption {
	return changing(set, remove, func(delta *pb.StateDelta, patch *pb.StatePatch) { delta.App = patch })
}

func changing(set map[string]any, remove []string, place func(*pb.StateDelta, *pb.StatePatch)) AppendOption {
	return appendOption(func(s *settings) {
		if s.delta == nil {
			s.delta = &pb.StateDelta{}
		}
		place(s.delta, &pb.StatePatch{Set: s.jsonTexts(set), Remove: remove})
	})
}

// jsonTexts returns the JSON text of each value.
func (s *settings) jsonTexts(values map[string]any) map[string]string {
	texts := make(map[string]string, len(values))
	for key, value := range values {
		text, verbatim := value.(json.RawMessage)
		if !verbatim {
			var err error
			if text, err = json.Marshal(value); err != nil {
				s.err = errors.Join(s.err, fmt.Errorf("threadkeep: the value of %q: %w", key, err))
			}
		}
		texts[key] = string(text)
	}
	return texts
}
