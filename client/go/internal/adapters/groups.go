package adapters

import (
	"slices"

	"github.com/threadkeep/threadkeep-go"
	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Group is one event with the messages that a framework shows for it; or events of a model's step, which another framework stored
// one by one, with the message that they are together.
type Group[M any] struct {
	Events   []*threadkeep.Event
	Messages []M
}

// Groups returns events as messages. own returns the message that the framework itself stored; shown returns the messages of the
// typed parts of others.
func Groups[M any](
	events []*threadkeep.Event, own func(*threadkeep.Event) (M, bool), shown func(role pb.Role, parts []*threadkeep.Part) []M,
) []Group[M] {
	var groups []Group[M]
	var step []*threadkeep.Event
	var parts []*threadkeep.Part
	finish := func() {
		if len(step) > 0 {
			groups = append(groups, Group[M]{step, shown(step[0].GetMessage().GetRole(), parts)})
		}
		step, parts = nil, nil
	}
	for _, event := range events {
		if message, isOwn := own(event); isOwn {
			finish()
			groups = append(groups, Group[M]{[]*threadkeep.Event{event}, []M{message}})
			continue
		}
		if len(step) == 0 || !continues(step[len(step)-1], event, parts) {
			finish()
		}
		step, parts = append(step, event), append(parts, event.GetMessage().GetParts()...)
	}
	finish()
	return groups
}

// continues reports whether the event belongs to the same step of a model as those before it: reasoning, then text, then tool calls.
// Providers require that the results follow the message with all calls.
func continues(before, event *threadkeep.Event, parts []*threadkeep.Part) bool {
	assistant := pb.Role_ROLE_ASSISTANT
	if before.GetMessage().GetRole() != assistant || event.GetMessage().GetRole() != assistant {
		return false
	}
	if before.GetAuthor() != event.GetAuthor() || before.GetBranch() != event.GetBranch() || before.GetSynthetic() || event.GetSynthetic() {
		return false
	}
	last, next := slices.Max(append(stages(parts), 0)), slices.Min(append(stages(event.GetMessage().GetParts()), called))
	return last < next || (next == called && last == called)
}

const (
	thought = iota + 1
	said
	called
	answered
)

func stages(parts []*threadkeep.Part) []int {
	var found []int
	for _, part := range parts {
		switch part.GetContent().(type) {
		case *pb.Part_Reasoning:
			found = append(found, thought)
		case *pb.Part_ToolCall:
			found = append(found, called)
		case *pb.Part_ToolResult:
			found = append(found, answered)
		case nil:
		default:
			found = append(found, said)
		}
	}
	return found
}

// Kept returns the events for a list of messages: those of groups that have equal messages, as they are, and new ones for the others.
// Events without messages, which the framework cannot show, stay.
func Kept[M any](
	groups []Group[M], wanted []M, equal func(a, b M) bool, made func(M) *threadkeep.Event,
) []*threadkeep.Event {
	places := matched(groups, wanted, equal)
	var events []*threadkeep.Event
	next := 0
	hidden := func(until int) {
		for ; next < until; next++ {
			if len(groups[next].Messages) == 0 {
				events = append(events, groups[next].Events...)
			}
		}
	}
	for i := 0; i < len(wanted); i++ {
		place, found := places[i]
		if !found {
			events = append(events, made(wanted[i]))
			continue
		}
		hidden(place)
		events = append(events, groups[place].Events...)
		next = place + 1
		i += len(groups[place].Messages) - 1
	}
	hidden(len(groups))
	return events
}

// matched finds groups for messages, the last ones first: lists are most often shortened at their beginning. It returns the group
// of each first message of a group.
func matched[M any](groups []Group[M], wanted []M, equal func(a, b M) bool) map[int]int {
	places := map[int]int{}
	end := len(groups)
	for i := len(wanted); i > 0; {
		place := end - 1
		for ; place >= 0; place-- {
			messages := groups[place].Messages
			if n := len(messages); n > 0 && n <= i && slices.EqualFunc(messages, wanted[i-n:i], equal) {
				break
			}
		}
		if place < 0 {
			i--
			continue
		}
		i -= len(groups[place].Messages)
		places[i], end = place, place
	}
	return places
}
