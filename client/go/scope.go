package threadkeep

import "github.com/threadkeep/threadkeep-go/threadkeep/v1"

// ScopeOption widens whose sessions a call covers. Without one, what a request leaves empty of app and user is the client's. An app
// that is set and empty is not left empty: it means sessions without an app.
type ScopeOption interface {
	WatchOption
	widen(*reach)
}

// AllUsers covers every user whom the token reaches, unless the request names one.
func AllUsers() ScopeOption {
	return scopeOption(func(r *reach) { r.allUsers = true })
}

// AllApps covers every app, unless the request names one.
func AllApps() ScopeOption {
	return scopeOption(func(r *reach) { r.allApps = true })
}

type scopeOption func(*reach)

func (o scopeOption) widen(r *reach)        { o(r) }
func (o scopeOption) applyTo(*subscription) {} // WatchAll reads it before it subscribes

// reach completes what requests leave empty of app and user.
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

// search completes the request's scope. The scope of all users is an app.
func (r *reach) search(request *threadkeepv1.SearchEventsRequest) {
	if request.Scope != nil && request.GetUser() == nil {
		return // a session or an app, by name
	}
	whose := copyOf(request.GetUser())
	whose.UserId, whose.App = r.user(whose.UserId), r.app(whose.App)
	if whose.UserId == "" && r.allUsers && !r.allApps {
		request.Scope = &threadkeepv1.SearchEventsRequest_App{App: &threadkeepv1.AppScope{App: whose.GetApp()}}
	} else {
		request.Scope = &threadkeepv1.SearchEventsRequest_User{User: whose}
	}
}
