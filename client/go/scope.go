package threadkeep

import "github.com/threadkeep/threadkeep-go/threadkeep/v1"

// ScopeOption widens the sessions that a call covers. Without one, app and user that a request leaves empty are the client's.
// An app that is set to "" means sessions without an app.
type ScopeOption interface {
	WatchOption
	widen(*reach)
}

// AllUsers covers every user within the token's reach, unless the request specifies one.
func AllUsers() ScopeOption {
	return scopeOption(func(r *reach) { r.allUsers = true })
}

// AllApps covers every app, unless the request specifies one.
func AllApps() ScopeOption {
	return scopeOption(func(r *reach) { r.allApps = true })
}

type scopeOption func(*reach)

func (o scopeOption) widen(r *reach)        { o(r) }
func (o scopeOption) applyTo(*subscription) {} // WatchAll reads it before it subscribes

// reach completes app and user of requests.
type reach struct {
	own               *threadkeepv1.UserScope
	allUsers, allApps bool
}

func reachOf[O any](c *Client, opts []O) *reach {
	r := &reach{own: c.user}
	for _, option := range opts {
		if wide, ok := any(option).(ScopeOption); ok {
			wide.widen(r)
		}
	}
	return r
}

func (r *reach) user(given string) string {
	if given != "" || r.allUsers {
		return given
	}
	return r.own.GetUserId()
}

func (r *reach) app(given *string) *string {
	if given != nil || r.allApps {
		return given
	}
	return r.own.App
}

// search completes the scope of the request. All users are the scope of an app.
func (r *reach) search(request *threadkeepv1.SearchEventsRequest) {
	if request.Scope != nil && request.GetUser() == nil {
		return // a specified session or app
	}
	whose := copyOf(request.GetUser())
	whose.UserId, whose.App = r.user(whose.UserId), r.app(whose.App)
	if whose.UserId == "" && r.allUsers && !r.allApps {
		request.Scope = &threadkeepv1.SearchEventsRequest_App{App: &threadkeepv1.AppScope{App: whose.GetApp()}}
	} else {
		request.Scope = &threadkeepv1.SearchEventsRequest_User{User: whose}
	}
}
