package threadkeep

import (
	"context"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// TurnsOver fires if the window has more than n turns.
func TurnsOver(n int64) *pb.CompactionTrigger {
	return &pb.CompactionTrigger{Kind: &pb.CompactionTrigger_TurnsOver{TurnsOver: n}}
}

// TokensAtLeast fires if the window has n tokens or more.
func TokensAtLeast(n int64) *pb.CompactionTrigger {
	return &pb.CompactionTrigger{Kind: &pb.CompactionTrigger_Tokens{Tokens: n}}
}

// BytesAtLeast fires if the window has n bytes or more.
func BytesAtLeast(n int64) *pb.CompactionTrigger {
	return &pb.CompactionTrigger{Kind: &pb.CompactionTrigger_Bytes{Bytes: n}}
}

// EventsAtLeast fires if the window has n events or more.
func EventsAtLeast(n int64) *pb.CompactionTrigger {
	return &pb.CompactionTrigger{Kind: &pb.CompactionTrigger_Events{Events: n}}
}

// AnyOf fires if one of these fires.
func AnyOf(triggers ...*pb.CompactionTrigger) *pb.CompactionTrigger {
	return &pb.CompactionTrigger{Kind: &pb.CompactionTrigger_AnyOf{AnyOf: &pb.TriggerList{Triggers: triggers}}}
}

// AllOf fires if all of these fire.
func AllOf(triggers ...*pb.CompactionTrigger) *pb.CompactionTrigger {
	return &pb.CompactionTrigger{Kind: &pb.CompactionTrigger_AllOf{AllOf: &pb.TriggerList{Triggers: triggers}}}
}

// SlidingWindow keeps the newest events, from the start of a turn on. 0 is the server's default, 20.
func SlidingWindow(maxEvents int) *pb.CompactionStrategy {
	window := &pb.SlidingWindow{MaxEvents: int32(maxEvents)}
	return &pb.CompactionStrategy{Kind: &pb.CompactionStrategy_SlidingWindow{SlidingWindow: window}}
}

// TurnWindow keeps the newest turns. 0 is the server's default, 10.
func TurnWindow(maxTurns int) *pb.CompactionStrategy {
	window := &pb.TurnWindow{MaxTurns: int32(maxTurns)}
	return &pb.CompactionStrategy{Kind: &pb.CompactionStrategy_TurnWindow{TurnWindow: window}}
}

// TokenBudget keeps the newest turns that fit into this number of tokens. 0 is the server's default, 4,000.
func TokenBudget(maxTokens int64) *pb.CompactionStrategy {
	budget := &pb.TokenBudget{MaxTokens: maxTokens}
	return &pb.CompactionStrategy{Kind: &pb.CompactionStrategy_TokenBudget{TokenBudget: budget}}
}

// RecursiveSummary keeps the newest events and replaces those before them with a summary that a model writes. nil has the
// server's defaults; see pb.RecursiveSummary for the fields.
func RecursiveSummary(summary *pb.RecursiveSummary) *pb.CompactionStrategy {
	return &pb.CompactionStrategy{Kind: &pb.CompactionStrategy_RecursiveSummary{RecursiveSummary: copyOf(summary)}}
}

// TrimToolResults replaces tool results of minTokens or more with stubs, except those of the newest keepTurns turns. minTokens
// 0 is the server's default, 64.
func TrimToolResults(keepTurns, minTokens int) *pb.CompactionStrategy {
	keep := int32(keepTurns)
	trim := &pb.TrimToolResults{KeepTurns: &keep, MinTokens: int32(minTokens)}
	return &pb.CompactionStrategy{Kind: &pb.CompactionStrategy_TrimToolResults{TrimToolResults: trim}}
}

// Pipeline applies each strategy to the result of the one before it; a recursive summary at most once, and last.
func Pipeline(steps ...*pb.CompactionStrategy) *pb.CompactionStrategy {
	return &pb.CompactionStrategy{Kind: &pb.CompactionStrategy_Pipeline{Pipeline: &pb.StrategyPipeline{Steps: steps}}}
}

// Webhook has an HTTP endpoint plan: a webhook of that name in the server's configuration.
func Webhook(name string) *pb.CompactionStrategy {
	return &pb.CompactionStrategy{Kind: &pb.CompactionStrategy_Webhook{Webhook: &pb.WebhookStrategy{Name: name}}}
}

// CompactedBy has the members of a named consumer compact, in a policy. A change that requests it has CompactionDue.
func CompactedBy(consumer string) *pb.CompactionStrategy {
	return &pb.CompactionStrategy{Kind: &pb.CompactionStrategy_Consumer{Consumer: &pb.ConsumerStrategy{Name: consumer}}}
}

// Policy compacts by the strategy when an append makes the trigger fire: Policy(TurnsOver(50), TurnWindow(20)).
func Policy(trigger *pb.CompactionTrigger, strategy *pb.CompactionStrategy) *pb.CompactionPolicy {
	return &pb.CompactionPolicy{Trigger: trigger, Strategy: strategy}
}

// NeverCompact never compacts, even if a wider policy would.
func NeverCompact() *pb.CompactionPolicy {
	return &pb.CompactionPolicy{Disabled: true}
}

// PolicyHandle is the policy by which the server compacts a session, or the sessions of a user, of an app or of the tenant. The
// narrowest policy applies, in the order session, user and app, user, app, server. Errors: ErrSessionNotFound for a session.
type PolicyHandle struct {
	client *Client
	scope  *pb.PolicyScope
}

// Policy returns a handle on the compaction policy of the session.
func (s *SessionHandle) Policy() *PolicyHandle {
	return &PolicyHandle{s.client, &pb.PolicyScope{Kind: &pb.PolicyScope_Session{Session: s.ref}}}
}

// UserPolicy returns a handle on the compaction policy of a user's sessions: by default the client's, in its app.
func (c *Client) UserPolicy(opts ...ScopeOption) *PolicyHandle {
	given := settingsOf(opts, ScopeOption.forScope)
	user := &pb.UserPolicyScope{UserId: c.userOf(given), App: c.appOf(given)}
	return &PolicyHandle{c, &pb.PolicyScope{Kind: &pb.PolicyScope_User{User: user}}}
}

// AppPolicy returns a handle on the compaction policy of an app's sessions.
func (c *Client) AppPolicy(app string) *PolicyHandle {
	return &PolicyHandle{c, &pb.PolicyScope{Kind: &pb.PolicyScope_App{App: app}}}
}

// ServerPolicy returns a handle on the compaction policy of all sessions of the tenant.
func (c *Client) ServerPolicy() *PolicyHandle {
	return &PolicyHandle{c, &pb.PolicyScope{Kind: &pb.PolicyScope_Server{Server: true}}}
}

// Get returns the policy of exactly this scope, and the policy in effect with its scope.
func (p *PolicyHandle) Get(ctx context.Context) (*pb.GetCompactionPolicyResponse, error) {
	return p.client.raw.Compaction.GetCompactionPolicy(ctx, &pb.GetCompactionPolicyRequest{Scope: p.scope})
}

// Set sets the policy.
func (p *PolicyHandle) Set(ctx context.Context, policy *pb.CompactionPolicy) error {
	request := &pb.SetCompactionPolicyRequest{Scope: p.scope, Policy: copyOf(policy)}
	_, err := p.client.raw.Compaction.SetCompactionPolicy(ctx, request)
	return err
}

// Remove removes the policy; the next wider one then applies.
func (p *PolicyHandle) Remove(ctx context.Context) error {
	_, err := p.client.raw.Compaction.SetCompactionPolicy(ctx, &pb.SetCompactionPolicyRequest{Scope: p.scope})
	return err
}
